#include "host/base/log.h"

#include <memory>
#include <mutex>
#include <utility>

#include "host/base/fork.h"

namespace tenon {
namespace {

using Sink = std::function<void(const LogLine&)>;

thread_local const Sink* t_sink = nullptr;  // of the innermost LogScope of this thread

std::mutex g_mutex;
[[maybe_unused]] const bool g_held = (hold_while_forking(g_mutex), true);

std::shared_ptr<const Sink>& sink_of_process() {
  static auto* sink = new std::shared_ptr<const Sink>;  // providers may log while statics are destroyed
  return *sink;
}

std::shared_ptr<const Sink> current_sink() {
  const std::lock_guard lock(g_mutex);
  return sink_of_process();
}

}  // namespace

void set_log_sink(Sink sink) {
  auto made = sink ? std::make_shared<const Sink>(std::move(sink)) : nullptr;
  const std::lock_guard lock(g_mutex);
  sink_of_process() = std::move(made);
}

bool has_log_sink() { return t_sink != nullptr || current_sink() != nullptr; }

void send_log_line(const LogLine& line) noexcept {
  try {
    if (t_sink != nullptr) (*t_sink)(line);
    if (const std::shared_ptr<const Sink> sink = current_sink()) (*sink)(line);
  } catch (...) {  // a line that cannot be logged is lost
  }
}

void LogScope::enter(const Sink& sink) {
  entered_ = true;
  outer_ = std::exchange(t_sink, &sink);
}

void LogScope::leave() { t_sink = outer_; }

void log_line(uint32_t level, std::string_view code, std::string_view message) noexcept {
  send_log_line({{}, level, code, message});
}

}  // namespace tenon
