// struct tenon_run: what a provider's run function can use of the host: scratch memory, the thread pool, and outputs
// that are made during the Run.
//
// The executor owns one per frame, or one per step that makes its own outputs. All members may be used from
// several threads at once, because a provider may call the host from inside parallel_for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "host/device/value.h"
#include "host/services/thread_pool.h"

namespace tenon::runtime {

class Trace;

/// Memory that is given out in pieces and taken back all at once. After the first rounds it does not allocate. It
/// counts for the budget of the thread that makes it, or for that of count_for().
class ScratchArena {
 public:
  ScratchArena() : budget_(current_budget()) {}
  ScratchArena(const ScratchArena&) = delete;
  ScratchArena& operator=(const ScratchArena&) = delete;

  /// 64-byte aligned and uninitialised. Null when there is no memory. Thread-safe.
  void* allocate(uint64_t bytes);
  /// Call after a step, while no thread allocates: everything given out becomes invalid.
  void reset() {
    if (used_.load(std::memory_order_relaxed) != 0) reset_used();
  }
  uint64_t capacity() const { return capacity_; }
  /// Call before the first allocate().
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
  std::atomic<uint64_t> used_{0};  // bytes asked for; above capacity_ when the block was too small
  std::mutex mutex_;
  std::vector<Overflow> overflow_;
  std::shared_ptr<MemoryBudget> budget_;
  MemoryCharge charge_;  // for the block
};

/// Receives outputs whose shape or content is known only while the step runs. The executor implements it.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// `step`: tenon_run::step. `output`: index of the step's output.
  virtual Status alloc_output(uint64_t step, uint32_t output, std::span<const int64_t> dims,
                              tenon_tensor* out_tensor) = 0;
  /// `value` is a string tensor with a copy of the provider's strings.
  virtual Status set_strings(uint64_t step, uint32_t output, ValueRef value) = 0;
  /// An empty reference is an empty optional.
  virtual Status set_object(uint64_t step, uint32_t output, ValueRef value) = 0;
  /// The tensor of a step's input. Shares its memory if the executor can; otherwise copies it.
  virtual Result<ValueRef> value_from_input(uint64_t step, uint32_t input) = 0;
};

}  // namespace tenon::runtime

struct tenon_run {
  tenon::runtime::RunThreads threads;
  tenon::runtime::ScratchArena* scratch = nullptr;  // null: scratch() returns null
  tenon::runtime::OutputSink* sink = nullptr;       // null: all outputs exist before the step runs
  uint64_t step = 0;                                // the sink's number of the step
  tenon::runtime::Trace* trace = nullptr;  // receives the provider's spans; null: the Run is not traced
  std::string_view traced_as;              // the instance that runs now, for the trace
};
