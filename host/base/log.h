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
/// True when somebody gets the lines of this thread. Work that only serves the log can be skipped otherwise.
bool has_log_sink();
/// Logs a line of the runtime itself (`provider` is empty). Never fails; the line may be dropped.
void log_line(uint32_t level, std::string_view code, std::string_view message) noexcept;
/// Passes a line to the sinks. Never fails; the line may be dropped.
void send_log_line(const LogLine& line) noexcept;

/// While it lives, lines that this thread logs also go to `sink`, which may be empty. Scopes may be nested: the innermost
/// sink that is not empty gets them.
class LogScope {
 public:
  explicit LogScope(const std::function<void(const LogLine&)>& sink) {
    if (sink) enter(sink);
  }
  ~LogScope() {
    if (entered_) leave();
  }
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  void enter(const std::function<void(const LogLine&)>& sink);
  void leave();

  bool entered_ = false;
  const std::function<void(const LogLine&)>* outer_ = nullptr;
};

}  // namespace tenon
