// Streams: work in order. Points are values of a timeline semaphore.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "host_copies.h"

namespace tenon::vulkan {

class Device;
class Launches;
struct Instance;

/// Work that was recorded, to be enqueued as one piece. Borrows the launches and the ends of copies.
class Recording {
 public:
  explicit Recording(Device& device, bool timed) : list_(device, timed, true) {}
  CommandList& list() { return list_; }
  /// Enqueues everything on the stream, which need not be the one that recorded.
  void run(class Stream& stream);

 private:
  CommandList list_;
};

/// Work without a stream: written once, then done again and again, which allocates nothing and takes no mutex (R41). Calls
/// of one object do not overlap.
class Alone {
 public:
  Alone(Device& device, const Launches& launches);
  /// Returns when the work is done. Throws its error.
  void run();

 private:
  Device& device_;
  CommandList list_;
  FenceHandle fence_;
};

/// Calls of one stream do not overlap, except wait_point().
class Stream {
 public:
  Stream(const Instance& instance, const tenon_stream_params& params);
  Stream(Device& device, bool timed);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

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
  void run(CommandList& list);
  /// Keeps memory until the work enqueued or recorded so far is done.
  void keep(OwnedPiece piece);

  /// What to add to a time of the device for the time of the host.
  int64_t measure_offset();

 private:
  /// What a command buffer or a copy of the host waits for.
  struct Wait {
    VkSemaphore semaphore;
    uint64_t value;
  };
  struct Submission {
    std::vector<Wait> waits;
    VkCommandBuffer commands;  // null: only signals
    uint64_t value;            // signals it
  };
  struct Done {
    uint64_t value;
    std::unique_ptr<CommandList> list;  // null for a recording
    std::shared_ptr<Timestamps> times;
  };

  CommandList& current();
  void close();
  void enqueue(const CommandList& list);
  void signal_after(VkCommandBuffer commands);
  void submit(std::unique_lock<std::mutex>& lock);
  bool is_done(uint64_t value) const;
  void recycle();

  Device& device_;
  const bool timed_;
  SemaphoreHandle semaphore_;
  std::shared_ptr<ep::LateErrors> errors_ = std::make_shared<ep::LateErrors>();
  std::unique_ptr<Recording> recording_;  // while the stream records
  std::unique_ptr<CommandList> current_;  // not enqueued yet
  std::vector<std::unique_ptr<CommandList>> spare_;
  std::deque<Done> done_;    // enqueued, in order
  std::vector<Wait> waits_;  // of the next work
  bool after_host_ = false;  // the last work is a copy of the host
  std::optional<HostCopies> host_copies_;

  std::mutex mutex_;  // for what follows: wait_point() is called from any thread
  std::vector<Submission> pending_;
  uint64_t last_ = 0;       // the last value
  uint64_t submitted_ = 0;  // the last value whose work was submitted
};

}  // namespace tenon::vulkan
