// A queue of work with its own thread. Work starts after the next flush, in order and with a delay, so that a
// host that does not wait reads too early.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device.h"

namespace accelerator {

class Stream;

/// A piece of work. `act` throws Error, also late; its argument is NULL when the work is done at once. What it owns is
/// released before a point behind it is done, also when the work is skipped or dropped.
struct Work {
  std::function<void(Stream*)> act;
  /// Called on the host's thread when the work is enqueued, once per time when it is part of a recording; may be empty.
  std::function<void()> enter = {};
};

/// The points of a stream, and the failures of its work. Streams that wait for it share it.
struct Timeline {
  struct Failure {
    Error error;
    uint64_t before = 0;  // the first point behind the work
    // Of a failure that came by a wait: where it came from. To report it here reports it there.
    std::shared_ptr<Timeline> origin = {};
    size_t index = 0;
  };
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t made = 0, flushed = 0, done = 0;  // the last such point
  std::vector<Failure> failures;             // in order
  size_t reported = 0;                       // so many of them by point_wait
};

/// Work that a stream recorded.
class Recording {
 public:
  /// `is_timed`: as the stream that recorded. Otherwise the work is not measured.
  Recording(std::vector<Work> works, bool is_timed);
  /// Enqueues everything as one piece.
  void run(Stream& stream);

 private:
  struct State {
    std::vector<Work> works;
    bool is_timed = false;
    std::atomic<bool> busy{false};
  };
  std::shared_ptr<State> state_;
};

class Stream {
 public:
  Stream(Instance& instance, const tenon_stream_params& params);
  /// Finishes flushed work; ends work that hangs.
  ~Stream();

  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void enqueue(std::function<void(Stream*)> act) { add({.work = {.act = std::move(act)}}); }
  void flush();
  uint64_t point();
  /// Later work waits for the point of `other`, and fails as the work before that point did.
  void wait(const Stream& other, uint64_t point);
  /// Blocks. Throws the first failure before the point that was not reported yet. `timeout_ns` < 0: no limit.
  void wait_point(uint64_t point, int64_t timeout_ns);
  void times(const TimeSink& sink);

  void record_begin();
  std::unique_ptr<Recording> record_end();
  bool records() const { return recorded_.has_value(); }

  /// Called by work on the stream's thread: throws when the stream is destroyed, the test lets go (Counters::let_go) or
  /// 60 s have passed. By then the host may have destroyed the program, so `place` is a copy.
  [[noreturn]] void hang(std::string place);

  /// Does the work now, enqueues it, or records it.
  static void submit(Stream* stream, std::function<void(Stream*)> act) {
    submit(stream, Work{std::move(act)});
  }
  static void submit(Stream* stream, Work work);

  /// The time of a piece of work, from here to the end of the scope. `stream` is NULL for work that is done at once. The
  /// time of work that throws is not given.
  class Timer {
   public:
    Timer(Stream* stream, std::string name, uint64_t work_id);
    ~Timer();
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    Stream* stream_;
    std::string name_;
    TimeSpan span_;
    int exceptions_;
  };

 private:
  friend class Recording;
  struct Measured {
    std::string name;
    TimeSpan span;
  };
  struct Item {
    Work work = {};
    uint64_t point = 0;    // or a point
    bool is_wait = false;  // a wait for another stream begins without delay
  };

  Counters& counters() const { return instance_.device.counters(); }
  void check_not_recording(const char* what) const;
  void add(Item item);
  void work();
  void await(const std::shared_ptr<Timeline>& other, uint64_t point, size_t first_failure);
  void add_failure(Timeline::Failure failure);

  Instance& instance_;
  std::shared_ptr<Timeline> timeline_ = std::make_shared<Timeline>();
  std::mutex& mutex_ = timeline_->mutex;
  std::condition_variable& changed_ = timeline_->changed;
  std::vector<Item> pending_;  // not flushed yet
  std::deque<Item> queue_;
  std::optional<std::vector<Work>> recorded_;
  const bool is_timed_;
  std::vector<Measured> measured_;  // not given yet
  bool measures_ = false;           // the work under way; used by the stream's thread alone
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace accelerator
