// The log of the process: lines of the runtime and of providers, on their way to whoever listens.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "tenon/ep.h"

namespace tenon {

/// What a provider said through `log`. `level` is TENON_LOG_x.
struct LogLine {
  std::string_view provider;  // "cuda 1.4.0"; empty when the provider did not say who it is
  uint32_t level = TENON_LOG_INFO;
  std::string_view code, message;
};
/// Where log lines go from now on; an empty function drops them, which is the default. Called from any
/// thread.
void set_log_sink(std::function<void(const LogLine&)> sink);
/// Somebody listens: what is only made for the log need not be made otherwise.
bool has_log_sink();
/// What the runtime itself has to say: `provider` in the line is empty. Never fails; may be dropped.
void log_line(uint32_t level, std::string_view code, std::string_view message) noexcept;
/// Hands a line to the listener. Never fails; may be dropped.
void send_log_line(const LogLine& line) noexcept;

}  // namespace tenon
