// Checks a config without a model: why a session with this config would fail, and which settings would have no effect.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/config/config.h"
#include "host/session/session.h"

namespace tenon::session {

struct ConfigReport {
  std::vector<std::string> errors;     // all errors, not only the first
  std::vector<std::string> warnings;   // what is passed over or ignored, or has no effect
  std::vector<std::string> instances;  // "cuda/gpu:0": the instances that a session would ask, in order
};

/// Loads the chosen providers and opens their devices, as making a session does.
ConfigReport check_config(const config::Config& config, const SessionOptions& options);

}  // namespace tenon::session
