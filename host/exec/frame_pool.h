// The plans of one executable, by signature, and their idle frames.
//
// A Run takes a frame and gives it back. When the shapes are those of the last Run, each of the two is one atomic
// exchange. A lock is taken only when shapes change or more Runs are under way than before.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/plan/lru.h"
#include "host/device/idle_memory.h"
#include "host/exec/frame.h"
#include "host/exec/run_executable.h"
#include "host/services/per_thread_cache.h"

namespace tenon::runtime {

/// The shapes and places of the arguments, and `kept`: the indexes of the outputs that stay where they are made, rising.
plan::Signature signature_of(std::span<const Argument> arguments, std::span<const uint32_t> kept = {});

/// Thread-safe.
class FramePool final : public IdleMemory {
 public:
  /// Keeps at most `keep_plans` plans, whose slabs take at most `keep_bytes` (0: no limit) with one frame for each.
  FramePool(size_t keep_plans, uint64_t keep_bytes);
  ~FramePool() override;

  /// A frame for the shapes and places of the arguments. Plans new shapes. Frees all idle frames when the session's memory limit
  /// is reached. `executable` owns the pool.
  Result<std::unique_ptr<Frame>> take(const Executable& executable, std::span<const Argument> arguments,
                                      std::span<const uint32_t> kept = {});
  void give_back(std::unique_ptr<Frame> frame);
  /// Frees the idle frames that use the device. Plans stay, with what is uploaded for them.
  bool drop_idle(const Device& device) override;

  /// The plan for a signature. Makes it when there is none.
  Result<std::shared_ptr<const Plan>> find_plan(const Executable& executable,
                                                std::span<const Argument> arguments,
                                                std::span<const uint32_t> kept,
                                                const plan::Signature& signature);

  /// Visits the most recently used plan first.
  void for_each_plan(const std::function<void(const Plan&)>& visit) const;

 private:
  struct Entry {
    std::shared_ptr<const Plan> plan;
    std::vector<std::unique_ptr<Frame>> idle;
  };
  static constexpr size_t kMaxIdle = 64;

  std::unique_ptr<Frame> take_idle(const plan::Signature& signature);
  /// Frees the idle frames that use `device`, or all without one; false when there are none. Allocates nothing.
  bool drop(const Device* device);
  void put_idle(std::unique_ptr<Frame> frame);
  /// Drops the plan of an outdated frame.
  void forget(const Frame& frame);

  PerThreadCache<Frame> hot_;
  mutable std::mutex mutex_;
  plan::Lru<Entry> entries_;
  Registration registration_;
};

}  // namespace tenon::runtime
