// The exceptions of checks.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "tenon/ep.h"

namespace tenon::cts {

/// The provider fails the check. `cure`: what its author can do about it.
struct Failed : std::runtime_error {
  explicit Failed(const std::string& cause, std::string advice = {})
      : std::runtime_error(cause), cure(std::move(advice)) {}
  std::string cure;
};

/// There is nothing to check: an optional function is NULL, or no probe of the kit is claimed.
struct NotApplicable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The provider rejects the node with `code`, a TENON_REJECT_x.
struct Rejected : std::runtime_error {
  Rejected(uint32_t rejection, const std::string& text) : std::runtime_error(text), code(rejection) {}
  uint32_t code;
};

/// A function returned a status other than OK.
struct CallFailed : std::runtime_error {
  CallFailed(tenon_status failure, const std::string& text) : std::runtime_error(text), status(failure) {}
  tenon_status status;
};

}  // namespace tenon::cts
