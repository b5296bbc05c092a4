// Converts failures at the ABI border: Status to tenon_error and back.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include "core/base/status.h"
#include "tenon/ep.h"

namespace tenon {

/// An empty error struct to pass to a call across the border.
tenon_error make_error();

/// Fills as much of `error` (may be null) as its struct_size covers, and returns the code. The ErrorKind is stored
/// in `kind`. An OK status leaves the struct unchanged.
tenon_status give_status(const Status& status, tenon_error* error);

/// Copies as much of `from` as the caller's struct `to` (may be null) covers in whole members.
void copy_error(const tenon_error& from, tenon_error* to) noexcept;

/// Makes a Status of a failed call. Device loss and lack of memory get their kinds. `label` (may be empty) becomes
/// the outermost context. `own`: the other side is a part of this library, so the kind in `error` counts.
Status take_status(tenon_status code, const tenon_error& error, std::string_view label, bool own = false);

/// Fills `error` (may be null) without allocating, and returns the code.
tenon_status give_plain(StatusCode code, ErrorKind kind, const char* message, tenon_error* error) noexcept;

/// Runs `body`, which returns a Status. No exception leaves: std::bad_alloc and std::length_error become
/// RESOURCE_EXHAUSTED, others INTERNAL.
template <class Body>
tenon_status guarded(tenon_error* error, Body&& body) noexcept {
  try {
    const Status status = body();
    return status.ok() ? TENON_OK : give_status(status, error);
  } catch (const std::bad_alloc&) {
    return give_plain(StatusCode::kResourceExhausted, ErrorKind::kOutOfMemory,
                      "out of host memory: an allocation in the runtime failed", error);
  } catch (const std::length_error&) {  // a size beyond a container's maximum
    return give_plain(StatusCode::kResourceExhausted, ErrorKind::kOutOfMemory,
                      "out of host memory: a size exceeds the address space", error);
  } catch (const std::exception& exception) {
    return give_plain(StatusCode::kInternal, ErrorKind::kInternal, exception.what(), error);
  } catch (...) {
    return give_plain(StatusCode::kInternal, ErrorKind::kInternal, "an unknown exception reached the border",
                      error);
  }
}

}  // namespace tenon
