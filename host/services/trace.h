// A trace in the format of Chrome's trace viewer, with one event per step, copy and compile, and one per
// piece of work on a device. It covers one Run, or
// all sessions of the process.
//
// In the viewer an instance of a provider is shown as a process, and the threads of this process as its threads. Work
// on a device has a further thread for each of its streams.
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
    std::string name;      // the node, or the value that is copied
    std::string category;  // "run", "copy", "submit", "wait", "device", "compile", "fallback", "load" ...
    std::string provider;  // the instance; empty for the host
    int64_t begin_ns = 0, duration_ns = 0;
    uint64_t bytes = 0;  // of a copy
    uint64_t thread = 0;
    std::string track = {};  // of work on a device: its stream, shown in place of the thread
    std::string step = {};   // of work on a device: the name of the step that it belongs to
  };
  /// More events are counted and dropped.
  static constexpr size_t kMaxEvents = 1'000'000;

  /// Adds the event and sets its thread. Without memory the event is counted and dropped.
  void add(Event event);
  /// From now on events are added to `other` too.
  void also(std::shared_ptr<Trace> other);
  std::vector<Event> take();
  /// {"traceEvents": [...]}. Times start at the first event.
  std::string to_json() const;

 private:
  void keep(const Event& event);

  mutable std::mutex mutex_;
  std::vector<Event> events_;
  uint64_t dropped_ = 0;
  std::shared_ptr<Trace> other_;
};

/// Adds an event for the time until the end of the scope. A null `trace` costs nothing.
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

/// The trace for a file, shared by all callers that name the same file. The file is written when the last
/// reference goes. "{pid}" in the path becomes the process id. A config error when the file cannot be written.
Result<std::shared_ptr<Trace>> open_trace_file(const std::string& path);
/// Writes the file of such a trace now, too. Gives its path. A failure is only logged, as for the last reference.
std::string write_trace_file(const std::shared_ptr<Trace>& trace);
/// Gives the same config error. Leaves no new file behind.
Status check_trace_file(const std::string& path);

}  // namespace tenon::runtime
