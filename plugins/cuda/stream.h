// Streams: work in order. Points are events.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "instance.h"
#include "recording.h"
#include "tenon/ep/device/late_errors.hpp"
#include "timestamps.h"

namespace tenon::cuda {

/// Calls of one stream do not overlap, except wait_point().
class Stream {
 public:
  Stream(const Instance& instance, const tenon_stream_params& params);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Work is submitted when it is enqueued; only Windows collects it.
  void flush();
  /// Numbers the end of the work that is enqueued so far.
  uint64_t point();
  /// Work enqueued from now on starts after the point of `other`, which was flushed. Does not block.
  void wait(Stream& other, uint64_t point);
  /// Blocks. Throws the first error of the work before the point. `timeout_ns` < 0: no limit.
  void wait_point(uint64_t point, int64_t timeout_ns);
  /// When work ran that is done and was not given yet. Nothing if the stream does not measure.
  void times(const ep::TimeSink& sink);

  void record_begin();
  std::unique_ptr<Recording> record_end();

  /// Enqueue the work, or record it. Borrowed until the work is done or the recording is gone.
  void run(const Launches& launches, uint64_t work_id);
  void copy(const Transfer& transfer, uint64_t work_id);
  void run(const Recording& recording);
  /// Keeps memory until the work enqueued or recorded so far is done.
  void keep(OwnedPiece piece) noexcept;
  /// What is enqueued from now on starts after what was enqueued on `other` so far. For the order of memory: errors are not
  /// asked for.
  void wait_for_stream(CUstream other) noexcept;

  CUstream get() const { return handle_->get(); }
  const std::shared_ptr<StreamHandle>& handle() const { return handle_; }

 private:
  struct Mark {
    uint64_t number = 0;
    std::shared_ptr<EventHandle> event;
    std::string first_place, last_place;  // of the nodes before the point, for errors
    Kept kept;
  };

  CUcontext context() const { return device_.context(); }
  std::shared_ptr<EventHandle> take_event();
  /// The event of a point; empty if its work is known to be done.
  std::shared_ptr<EventHandle> find_mark(uint64_t point);
  [[noreturn]] void fail_at(uint64_t point, CUresult code);
  void blame(ep::Error& error, uint64_t point);
  template <class Enqueue>
  void blaming(const Enqueue& enqueue);
  void spare(std::shared_ptr<EventHandle> event);
  void drop_done();
  void finish(CUstream stream) noexcept;
  void note(const std::string& first, const std::string& last);
  void enqueue(const Launches& launches, uint64_t work_id);
  void enqueue(const Transfer& transfer, uint64_t work_id);

  const Device& device_;
  const bool synchronizes_;
  std::shared_ptr<StreamHandle> handle_;  // buffers know it too
  std::unique_ptr<Timestamps> times_;     // null if the stream does not measure
  std::shared_ptr<ep::LateErrors> errors_ = std::make_shared<ep::LateErrors>();
  std::unique_ptr<Recording> recording_;  // while the stream records
  // Of what was enqueued since the last point.
  Kept kept_;
  const std::string *first_place_ = nullptr,
                    *last_place_ = nullptr;  // of the nodes; those live until the work is done

  std::mutex mutex_;  // for what follows: wait_point() is called from any thread
  std::deque<Mark> marks_;
  std::vector<std::shared_ptr<EventHandle>> events_;  // to use again
  uint64_t last_ =
      0;  // the last point. Only point() writes it, so other calls of the stream read it without the lock
};

}  // namespace tenon::cuda
