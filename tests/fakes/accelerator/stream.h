// A queue of work with its own thread. Work starts after the next flush, in order and with a delay, so that a
// host that does not wait reads too early.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "device.h"

namespace accelerator {

/// A point in a stream.
class Event {
 public:
  explicit Event(const Instance&) {}
  void record(Stream& stream);
  /// Blocks. Throws the first error of the work before the point. `timeout_ns` < 0: no limit.
  void wait(int64_t timeout_ns);

 private:
  friend class Stream;
  class Stream* stream_ = nullptr;
  uint64_t position_ = 0;
};

class Stream {
 public:
  explicit Stream(const Instance& instance);
  /// Finishes flushed work.
  ~Stream();

  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void enqueue(std::function<void()> work);
  void flush();
  /// Later work waits for the event as it is now: it may be recorded again before the stream gets there.
  void wait(const Event& event);
  /// Does the work now, or enqueues it if there is a stream.
  template <class Work>
  static void submit(Stream* stream, Work work) {
    if (stream == nullptr) return work();
    stream->enqueue(std::move(work));
  }

 private:
  friend class Event;
  void work();

  int64_t latency_us_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> pending_;  // not flushed yet
  std::deque<std::function<void()>> queue_;
  uint64_t enqueued_ = 0, flushed_ = 0, done_ = 0;
  std::optional<Error> failure_;  // the first failure, until an event reports it
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace accelerator
