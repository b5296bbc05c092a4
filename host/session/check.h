// A config tried out without a model: what a session that is made with it would fail on, and what would have no
// effect in it.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/config/config.h"
#include "host/session/session.h"

namespace tenon::session {

struct ConfigReport {
  std::vector<std::string> errors;    // what a session would end with; all of it, not the first
  std::vector<std::string> warnings;  // what is passed over, ignored, or without effect
  std::vector<std::string>
      instances;  // "cuda/gpu:0": what the nodes of a model would be offered to, in order
};

/// Loads the chosen providers and opens their devices, as a session does.
ConfigReport check_config(const config::Config& config, const SessionOptions& options);

}  // namespace tenon::session
