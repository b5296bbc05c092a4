// Streams are in-order command queues; events are markers in them.
#pragma once

#include "flag.h"

namespace tenon::opencl {

class StreamEvent;

struct Stream {
  explicit Stream(const Instance& instance) : queue(instance.device.make_queue()) {}
  ~Stream() {
    if (!is_forked()) clFinish(queue.get());
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void flush() const { check(clFlush(queue.get()), "clFlush"); }
  /// Work enqueued from now on starts after the point.
  void wait(const StreamEvent& event) const;

  QueueHandle queue;
  std::shared_ptr<FlagList> flags = std::make_shared<FlagList>();
};

/// A point in a stream. It can be recorded repeatedly.
class StreamEvent {
 public:
  explicit StreamEvent(const Instance&) {}

  void record(const Stream& stream);
  /// Blocks. Throws the first error of the work before the point, including an index out of range.
  /// `timeout_ns` < 0: no limit.
  void wait(int64_t timeout_ns) const;

 private:
  friend struct Stream;
  void wait_for_marker(int64_t timeout_ns) const;

  EventHandle marker_;
  std::shared_ptr<FlagList> flags_;
};

}  // namespace tenon::opencl
