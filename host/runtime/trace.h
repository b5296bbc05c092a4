// A trace of one Run or of loading, in the format of Chrome's trace viewer: one event per step, copy and
// compile.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::runtime {

/// Thread-safe.
class Trace {
 public:
  struct Event {
    std::string name;      // the node, the value that is copied
    std::string category;  // "run", "copy", "wait", "compile", ...
    std::string provider;  // may be empty
    int64_t begin_ns = 0, duration_ns = 0;
    uint64_t bytes = 0;  // of a copy
    uint64_t thread = 0;
  };

  /// Fills in the thread.
  void add(Event event);
  std::vector<Event> take();
  /// {"traceEvents": [...]}; times begin with the first event.
  std::string to_json() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

}  // namespace tenon::runtime
