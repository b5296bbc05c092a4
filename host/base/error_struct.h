// Failures on their way across the border: Status to tenon_error and back.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include "core/base/status.h"
#include "tenon/ep.h"

namespace tenon {

/// An empty error struct for a call across the border.
tenon_error make_error();

/// Fills as much of `error` (may be null) as its struct_size covers, and returns the code. The ErrorKind goes
/// into `reserved`. OK leaves the struct alone.
tenon_status give_status(const Status& status, tenon_error* error);

/// A failed call as a Status. Device loss and memory get their kinds; `label` (may be empty) stands in front
/// of the place.
Status take_status(tenon_status code, const tenon_error& error, std::string_view label);

/// Fills `error` (may be null) from a text that needs no memory, and returns the code.
tenon_status give_plain(StatusCode code, ErrorKind kind, const char* message, tenon_error* error) noexcept;

/// Runs `body`, which returns a Status; no exception leaves.
template <class Body>
tenon_status guarded(tenon_error* error, Body&& body) noexcept {
  try {
    return give_status(body(), error);
  } catch (const std::bad_alloc&) {
    return give_plain(StatusCode::kResourceExhausted, ErrorKind::kOutOfMemory,
                      "no host memory: an allocation of the runtime failed", error);
  } catch (const std::length_error&) {  // a size beyond what a container may have
    return give_plain(StatusCode::kResourceExhausted, ErrorKind::kOutOfMemory,
                      "no host memory: something would take more than the address space", error);
  } catch (const std::exception& exception) {
    return give_plain(StatusCode::kInternal, ErrorKind::kInternal, exception.what(), error);
  } catch (...) {
    return give_plain(StatusCode::kInternal, ErrorKind::kInternal, "an unknown exception reached the border",
                      error);
  }
}

}  // namespace tenon
