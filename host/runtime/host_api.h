// The table that the host gives to providers.
#pragma once

#include <functional>
#include <string_view>

#include "tenon/ep.h"

namespace tenon::runtime {

/// The one table of the process; static. Every slot is thread-safe.
const tenon_host_api* host_api();

/// What a provider said through `log`. `level` is TENON_LOG_x.
struct LogLine {
  std::string_view provider;  // "cuda 1.4.0"; empty when the provider did not say who it is
  uint32_t level = TENON_LOG_INFO;
  std::string_view code, message;
};
/// Where log lines go from now on; an empty function drops them, which is the default. Called from any
/// thread.
void set_log_sink(std::function<void(const LogLine&)> sink);

}  // namespace tenon::runtime
