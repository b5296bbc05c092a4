// A trace in the format of Chrome's trace viewer: one event per step, copy and compile. Of one Run, or of all
// that the sessions of a process do.
//
// Tracks: an instance of a provider is shown as a process of its own, the threads of this process as its
// threads.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace tenon::runtime {

/// Thread-safe.
class Trace {
 public:
  struct Event {
    std::string name;      // the node, the value that is copied
    std::string category;  // "run", "copy", "submit", "wait", "compile", "fallback", "load" ...
    std::string provider;  // the instance; empty: the host
    int64_t begin_ns = 0, duration_ns = 0;
    uint64_t bytes = 0;  // of a copy
    uint64_t thread = 0;
  };
  /// Further ones are counted and dropped.
  static constexpr size_t kMaxEvents = 1'000'000;

  /// Fills in the thread. Without memory for it the event is counted and dropped.
  void add(Event event);
  /// Everything that is added from now on goes there too.
  void also(std::shared_ptr<Trace> other);
  std::vector<Event> take();
  /// {"traceEvents": [...]}; times begin with the first event.
  std::string to_json() const;

 private:
  void keep(const Event& event);

  mutable std::mutex mutex_;
  std::vector<Event> events_;
  uint64_t dropped_ = 0;
  std::shared_ptr<Trace> other_;
};

/// From here to the end of the scope. `trace` may be null: then it costs nothing.
class TraceSpan {
 public:
  TraceSpan(Trace* trace, std::string_view name, std::string_view category, std::string_view provider = {});
  ~TraceSpan();
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  Trace* trace_;
  Trace::Event event_;
};

/// The trace that goes into the file, for all who name it: written when the last of them lets go. "{pid}" in
/// the name becomes the process id. A config error when the file cannot be written.
Result<std::shared_ptr<Trace>> open_trace_file(const std::string& path);
/// The same config error, without leaving a file behind.
Status check_trace_file(const std::string& path);

}  // namespace tenon::runtime
