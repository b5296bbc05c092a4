// The log of the process. It passes lines of the runtime and of providers to the application's listener.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "tenon/ep.h"

namespace tenon {

/// One line of the log. `level` is a TENON_LOG_x.
struct LogLine {
  std::string_view provider;  // "cuda 1.4.0"; empty when unknown, and for lines of the runtime
  uint32_t level = TENON_LOG_INFO;
  std::string_view code, message;
};
/// Sets where log lines go. An empty function, the default, drops them. `sink` is called from any thread.
void set_log_sink(std::function<void(const LogLine&)> sink);
/// True when a sink is set. Work that only serves the log can be skipped otherwise.
bool has_log_sink();
/// Logs a line of the runtime itself (`provider` is empty). Never fails; the line may be dropped.
void log_line(uint32_t level, std::string_view code, std::string_view message) noexcept;
/// Passes a line to the sink. Never fails; the line may be dropped.
void send_log_line(const LogLine& line) noexcept;

}  // namespace tenon
