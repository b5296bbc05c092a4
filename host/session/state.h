// The state of one sequence: the values of the state pairs between two Runs, such as a key-value cache.
//
// A value stays in the memory domain in which the model's parts use it. A Run reads it as the input of its pair and
// leaves the output of the pair as the next value. Where the step that makes the output may overwrite the input, both
// have the same memory. Otherwise two blocks of memory alternate. A block for a value that grows has room for twice its
// size, so that most Runs allocate nothing.
//
// A state is lost with the device that has its memory, and spoiled when a Run fails that updates it in place: Runs then
// fail until reset(). After any other failure it is as before the Run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "host/device/device.h"
#include "host/device/value.h"
#include "host/exec/run_executable.h"
#include "host/exec/state_pairs.h"
#include "host/session/io.h"
#include "host/session/state_layout.h"

namespace tenon::session {

/// Thread-safe, but for one Run or call at a time: another one fails with FAILED_PRECONDITION.
class State {
 public:
  /// What its Runs did, for tests and measurements. One value of one Run counts as one.
  struct Counts {
    uint64_t allocations = 0;
    uint64_t updated_in_place = 0;
    uint64_t alternated = 0;  // went to the other block, or to memory that the Run made
  };

  explicit State(std::shared_ptr<const StateLayout> layout);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const StateLayout* layout() const { return layout_.get(); }
  /// As it was made: the next Run begins a sequence. Keeps its memory for that.
  Status reset();
  /// A copy, in host memory, of the value of a pair. FAILED_PRECONDITION before the first Run.
  Result<runtime::ValueRef> read(uint32_t pair);
  /// Not during a Run.
  const Counts& counts() const { return counts_; }

 private:
  friend class StateUse;
  using Memory = std::shared_ptr<runtime::Buffer>;

  struct Held {
    std::vector<int64_t> dims;
    uint64_t bytes = 0;
    Memory memory;  // of the value
    Memory spare;   // for the next value; its content is of no use
  };

  /// Has the state for itself until its end.
  class Hold {
   public:
    Hold() = default;
    ~Hold() { end(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    Status begin(State& state);
    void end();

   private:
    State* state_ = nullptr;
  };

  Status lose(const runtime::Device& device);
  /// Makes `memory` hold `bytes` in `domain`. `grows`: takes room for more, if there is any.
  Status reserve(const StateEntry& entry, const runtime::MemoryDomain& domain, uint64_t bytes, bool grows,
                 Memory* memory);
  Status allocate(const StateEntry& entry, const runtime::MemoryDomain& domain, uint64_t bytes,
                  Memory* memory);
  Status fill_first(size_t pair, const runtime::MemoryDomain& domain);
  Status move(size_t pair, const runtime::MemoryDomain& domain);

  const std::shared_ptr<const StateLayout> layout_;
  std::vector<Held> held_;  // per pair
  bool started_ = false;    // a Run has succeeded since the reset
  Status failure_;          // why Runs fail until the reset
  Counts counts_;
  std::atomic<bool> busy_{false};
};

/// A state in one Run. Not thread-safe.
class StateUse final : public runtime::StateMemory {
 public:
  /// Takes the state until the end of this object and adds its values to `arguments`, one per input of the model. Those
  /// that the application gives are checked and there.
  Status begin(std::shared_ptr<State> state, const IoList& inputs, std::span<runtime::Argument> arguments);
  /// Null when the session has no pairs.
  runtime::StateMemory* memory() { return state_ == nullptr ? nullptr : this; }
  /// Adds the values to the arguments; only type and shape.
  void describe(std::span<runtime::Argument> arguments) const;
  /// Before each attempt of the Run: puts the values where `executable` needs them.
  Status enter(const runtime::Executable& executable);
  /// True when the plan is one for the shapes of the values.
  bool fits(const runtime::Plan& plan) const;

  Status bind(runtime::Frame& frame) override;
  Status take(runtime::Frame& frame) override;
  void fail(runtime::Frame& frame) override;

 private:
  Status start(std::span<const runtime::Argument> arguments);
  Status bind_memory(runtime::Frame& frame);
  Status collect(runtime::Frame& frame, size_t pair);

  std::shared_ptr<State> state_;
  State::Hold hold_;  // ends before state_
};

}  // namespace tenon::session
