// Memory, streams and recordings of the kit breaker, and their defects.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "work.h"

namespace breaker {

struct Work {
  std::function<void()> act;  // throws Error
  std::string place;
  uint64_t work_id = 0;
  uint64_t before = 0;  // the first point after it
};

/// A queue whose work is done when it is flushed, by the thread that flushes.
class Stream {
 public:
  explicit Stream(bool is_timed) : is_timed_(is_timed || breaks("R59.untimed")) {}
  /// Enqueues or records work.
  void add(std::function<void()> act, std::string place, uint64_t work_id);
  void flush();
  uint64_t point();
  void wait_point(uint64_t point, int64_t timeout_ns);
  void times(const tenon::ep::TimeSink& sink);

  void record_begin() { recorded_.emplace(); }
  std::vector<Work> record_end(bool dropped);
  bool records() const { return recorded_.has_value(); }
  /// Enqueues what was recorded.
  void add(const std::vector<Work>& recorded);

 private:
  struct Failure {
    tenon::ep::Error error;
    uint64_t before = 0;
  };
  void work();

  std::mutex mutex_;  // any thread may wait for a point
  std::vector<Work> pending_;
  std::optional<std::vector<Work>> recorded_;
  std::optional<Failure> failure_;  // the first one that was not reported
  uint64_t made_ = 0;
  const bool is_timed_;
  struct Measured {
    std::string place;
    tenon::ep::TimeSpan span;
  };
  std::vector<Measured> measured_;  // not given yet
};

void add_memory_functions(tenon_ep_api* api);
void add_stream_functions(tenon_ep_api* api);

}  // namespace breaker
