// Frames of failed Runs whose work had not ended when the Run had to. Such work may still use the memory of the frame, of
// its bindings and recordings, and of the values that the caller gave. A frame that is set aside keeps all of them,
// except memory that the caller bound without a value (Slots): that must stay valid until the session ends, unless the
// provider records. It uses nothing of its executable and may outlive it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "host/device/instance.h"

namespace tenon::runtime {

class Frame;

/// The frames of one session. Thread-safe.
class SetAside {
 public:
  SetAside();
  /// Waits for the work of all frames, at most a second in all. Frames whose work has not ended then are never freed, nor
  /// are their instances, on purpose. A warning in the log names each.
  ~SetAside();
  SetAside(const SetAside&) = delete;
  SetAside& operator=(const SetAside&) = delete;

  void add(std::unique_ptr<Frame> frame);
  /// Before a Run: frees the frames when the work of all of them has ended, because a frame may hold memory that the work
  /// of another one uses (a graph and its nested graph). A failure of the kind DEVICE_LOST, naming the instance, when one of `instances` still
  /// has work of an earlier Run: its device hangs. Does not wait.
  Status check(std::span<const std::shared_ptr<Instance>> instances) {
    return count_.load(std::memory_order_relaxed) == 0 ? ok_status() : check_frames(instances);
  }
  size_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  Status check_frames(std::span<const std::shared_ptr<Instance>> instances);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::atomic<size_t> count_{0};  // of frames_
};

}  // namespace tenon::runtime
