// Streams are in-order command queues, events are markers in them.
#pragma once

#include "device.h"

namespace tenon::opencl {

struct Stream {
  explicit Stream(const Device& device) : queue(device.make_queue()) {}
  ~Stream() { clFinish(queue.get()); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void flush() { check(clFlush(queue.get()), "clFlush"); }

  QueueHandle queue;
};

/// A point in a stream, recorded again and again.
class StreamEvent {
 public:
  void record(const Stream& stream);
  /// Blocks; throws the first error of the work before the point. `timeout_ns` < 0: no limit.
  void wait(int64_t timeout_ns) const;
  /// Work that is enqueued on `stream` from now on begins after the point.
  void hold(const Stream& stream) const;

 private:
  EventHandle marker_;
};

}  // namespace tenon::opencl
