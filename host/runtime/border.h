// Failures on their way across the border: Status to tenon_error and back.
#pragma once

#include <new>
#include <utility>

#include "core/base/status.h"
#include "tenon/ep.h"

namespace tenon::runtime {

/// An empty error struct for a call across the border.
tenon_error make_error();

/// Fills as much of `error` (may be null) as its struct_size covers, and returns the code. The ErrorKind goes
/// into `reserved`. OK leaves the struct alone.
tenon_status give_status(const Status& status, tenon_error* error);

/// A failed call as a Status. Device loss and memory get their kinds; `label` (may be empty) stands in front
/// of the place.
Status take_status(tenon_status code, const tenon_error& error, std::string_view label);

/// Runs `body`, which returns a Status; no exception leaves.
template <class Body>
tenon_status guarded(tenon_error* error, Body&& body) noexcept {
  try {
    return give_status(body(), error);
  } catch (const std::bad_alloc&) {
    if (error != nullptr && error->struct_size >= 8) error->code = TENON_RESOURCE_EXHAUSTED;
    return TENON_RESOURCE_EXHAUSTED;
  } catch (...) {
    return TENON_INTERNAL;
  }
}

}  // namespace tenon::runtime
