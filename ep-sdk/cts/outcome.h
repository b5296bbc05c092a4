// How a check says no.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "tenon/ep.h"

namespace tenon::cts {

/// The provider does not do what the check asks. `cure`: what its author does about it.
struct Failed : std::runtime_error {
  explicit Failed(const std::string& cause, std::string advice = {})
      : std::runtime_error(cause), cure(std::move(advice)) {}
  std::string cure;
};

/// There is nothing to look at: an optional slot is NULL, no operator of the kit is claimed.
struct NotApplicable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A node that the provider does not take: its reason code is `code`.
struct Rejected : std::runtime_error {
  Rejected(uint32_t rejection, const std::string& text) : std::runtime_error(text), code(rejection) {}
  uint32_t code;
};

/// A slot that returned another status than OK.
struct CallFailed : std::runtime_error {
  CallFailed(tenon_status failure, const std::string& text) : std::runtime_error(text), status(failure) {}
  tenon_status status;
};

}  // namespace tenon::cts
