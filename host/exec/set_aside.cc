#include "host/exec/set_aside.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "host/base/log.h"
#include "host/exec/frame.h"

namespace tenon::runtime {
namespace {

constexpr int64_t kLastWaitNs = 1'000'000'000;

/// Frames that are never freed. Reachable, so that leak checkers know them.
std::vector<std::unique_ptr<Frame>>& kept_for_ever() {
  static auto* frames = new std::vector<std::unique_ptr<Frame>>;
  return *frames;
}

void keep_for_ever(std::vector<std::unique_ptr<Frame>> frames) {
  static std::mutex mutex;
  for (const std::unique_ptr<Frame>& frame : frames) {
    const std::shared_ptr<Instance> instance = frame->busy_instance();
    if (instance == nullptr) continue;
    log_line(
        TENON_LOG_WARNING, "DEVICE_HANGS",
        str_cat(
            "'", instance->id(),
            "' still has work of a Run that was given up when its session ended; the memory of that Run and "
            "the instance are not freed"));
  }
  const std::lock_guard lock(mutex);
  std::move(frames.begin(), frames.end(), std::back_inserter(kept_for_ever()));
}

bool is_busy(const std::unique_ptr<Frame>& frame) { return frame->busy_instance() != nullptr; }

}  // namespace

SetAside::SetAside() = default;

SetAside::~SetAside() {
  const int64_t end = steady_after_ns(kLastWaitNs);
  for (const std::unique_ptr<Frame>& frame : frames_) frame->finish_work(end);
  if (std::any_of(frames_.begin(), frames_.end(), is_busy)) keep_for_ever(std::move(frames_));
}

void SetAside::add(std::unique_ptr<Frame> frame) {
  const std::lock_guard lock(mutex_);
  frames_.push_back(std::move(frame));
  count_.store(frames_.size(), std::memory_order_relaxed);
}

Status SetAside::check_frames(std::span<const std::shared_ptr<Instance>> instances) {
  std::vector<std::unique_ptr<Frame>> ended;  // declared before the lock, so that frames are freed without it
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Frame>& frame : frames_) frame->finish_work(0);
  if (std::none_of(frames_.begin(), frames_.end(), is_busy)) ended.swap(frames_);
  count_.store(frames_.size(), std::memory_order_relaxed);
  for (const std::unique_ptr<Frame>& frame : frames_) {
    const std::shared_ptr<Instance> instance = frame->busy_instance();
    if (std::find(instances.begin(), instances.end(), instance) == instances.end()) continue;
    return instance->device().blame(
        Status(StatusCode::kUnavailable,
               str_cat("'", instance->id(), "' has not ended the work of an earlier Run that was given up"),
               ErrorKind::kDeviceLost));
  }
  return ok_status();
}

}  // namespace tenon::runtime
