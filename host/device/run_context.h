// struct tenon_run: what a provider's run slot reaches of the host through its `run` argument: scratch
// memory, the thread pool, and the outputs that are made while it runs.
//
// The executor owns one per frame, or one per step that makes outputs of its own. Everything in it may be
// used from several threads at once, because a provider may call the host from inside parallel_for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "host/device/value.h"
#include "host/services/thread_pool.h"

namespace tenon::runtime {

/// Memory that is given out piece by piece and taken back all at once. After the first rounds it allocates
/// nothing. It counts for the budget of the thread that makes it, or for the one set.
class ScratchArena {
 public:
  ScratchArena() : budget_(current_budget()) {}
  ScratchArena(const ScratchArena&) = delete;
  ScratchArena& operator=(const ScratchArena&) = delete;

  /// 64-byte aligned and uninitialised; null when there is none left. Thread-safe.
  void* allocate(uint64_t bytes);
  /// After a step: everything given out is void. Not while somebody allocates.
  void reset() {
    if (used_.load(std::memory_order_relaxed) != 0) reset_used();
  }
  uint64_t capacity() const { return capacity_; }
  /// Before the first piece.
  void count_for(const std::shared_ptr<MemoryBudget>& budget) {
    if (budget_ != budget) budget_ = budget;
  }

 private:
  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };
  using Block = std::unique_ptr<std::byte, Free>;
  struct Overflow {
    Block block;
    MemoryCharge charge;
  };

  static Block aligned(uint64_t bytes);
  void* allocate_slow(uint64_t bytes);
  void reset_used();

  Block block_;
  uint64_t capacity_ = 0;
  std::atomic<uint64_t> used_{0};  // of the block; beyond capacity_ when it was too small
  std::mutex mutex_;
  std::vector<Overflow> overflow_;
  std::shared_ptr<MemoryBudget> budget_;
  MemoryCharge charge_;  // of the block
};

/// Where outputs go whose shape or content is known only while the step runs. The executor implements it.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// `step`: tenon_run::step. `output`: an index into the step's outputs.
  virtual Status alloc_output(uint64_t step, uint32_t output, std::span<const int64_t> dims,
                              tenon_tensor* out_tensor) = 0;
  /// `value` is a string tensor, made from a copy of the provider's.
  virtual Status set_strings(uint64_t step, uint32_t output, ValueRef value) = 0;
  /// An empty reference is an empty optional.
  virtual Status set_object(uint64_t step, uint32_t output, ValueRef value) = 0;
  /// The tensor that an input of the step holds, its memory shared where the executor can; otherwise a copy.
  virtual Result<ValueRef> value_from_input(uint64_t step, uint32_t input) = 0;
};

}  // namespace tenon::runtime

struct tenon_run {
  tenon::runtime::RunThreads threads;
  tenon::runtime::ScratchArena* scratch = nullptr;  // null: scratch() gives nothing
  tenon::runtime::OutputSink* sink = nullptr;       // null: every output is there before the step runs
  uint64_t step = 0;                                // of the sink's own counting
};
