// A stream of an instance.
#pragma once

#include "ep-sdk/cts/subject.h"

namespace tenon::cts {

/// A span that stream_times gave.
struct WorkTime {
  std::string name;
  uint64_t work_id = 0, begin_ns = 0, end_ns = 0;
};

/// A stream, and calls with it. They throw CallFailed. Calls of one Queue must not overlap, except wait and poll.
class Queue {
 public:
  /// `instance`: NULL for the one of the subject. `flags`: TENON_STREAM_x.
  explicit Queue(const Subject& subject, tenon_instance* instance = nullptr, uint32_t flags = 0);
  /// Destroys the stream. Its work must be done.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  uint64_t point();
  void flush();
  void wait(uint64_t point);
  /// point_wait with no time.
  CallResult poll(uint64_t point);
  CallResult try_wait(uint64_t point, int64_t timeout_ns = -1);
  /// stream_wait: later work of this stream begins after `point` of `other`.
  void wait_for(const Queue& other, uint64_t point);
  /// Returns when everything enqueued so far is done.
  void finish();

  /// What stream_times gives.
  std::vector<WorkTime> times();

  void record_begin();
  /// Ends the recording; the caller destroys it.
  tenon_recording* record_end();
  void record_drop();
  void run(tenon_recording* recording);

  tenon_stream* stream = nullptr;

 private:
  const Subject& subject_;
};

void destroy_recording(const Subject& subject, tenon_recording*& recording);

}  // namespace tenon::cts
