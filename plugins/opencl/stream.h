// Streams are in-order command queues. Points are markers in them.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "device.h"
#include "recording.h"
#include "tenon/ep/device/late_errors.hpp"
#include "timings.h"

namespace tenon::opencl {

/// Calls of one stream do not overlap, except wait_point().
class Stream {
 public:
  Stream(const Instance& instance, const tenon_stream_params& params);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void flush() const { check(clFlush(queue()), "clFlush"); }
  /// Numbers the end of the work that is enqueued so far.
  uint64_t point();
  /// Work enqueued from now on starts after the point of `other`, which was flushed. Does not block.
  void wait(Stream& other, uint64_t point);
  /// Blocks. Throws the first error of the work before the point. `timeout_ns` < 0: no limit.
  void wait_point(uint64_t point, int64_t timeout_ns);
  /// When commands ran that are done and were not given yet. Nothing if the stream does not measure.
  void times(const ep::TimeSink& sink);

  void record_begin();
  std::unique_ptr<Recording> record_end();

  /// Enqueue the work, or record it. `launches` is borrowed until the work is done or the recording is gone.
  void run(const Launches& launches, uint64_t work_id);
  void copy(const Transfer& transfer, uint64_t work_id);
  /// Keeps memory for the work enqueued or recorded so far.
  void keep(MemHandle memory);

  cl_command_queue queue() const { return queue_.get(); }

 private:
  struct Mark {
    uint64_t number;
    EventHandle event;
    std::string where;  // the work before the point, for errors of commands
  };

  /// A new reference to the event of a point; empty if its work is known to be done.
  EventHandle find_mark(uint64_t point);
  /// Drops marks of finished work, and keeps their errors. Needs the lock.
  void drop_done();

  cl_context context_;
  QueueHandle queue_;
  std::unique_ptr<Timings> timings_;  // null if the stream does not measure
  std::shared_ptr<ep::LateErrors> errors_ = std::make_shared<ep::LateErrors>();
  std::unique_ptr<Recording> recording_;     // while the stream records
  const std::string* last_place_ = nullptr;  // of the node that was enqueued last since the last point

  std::mutex mutex_;  // for what follows: wait_point() is called from any thread
  std::deque<Mark> marks_;
  uint64_t last_ =
      0;  // the last point. Only point() writes it, so other calls of the stream read it without the lock
};

}  // namespace tenon::opencl
