// The order of steps, and their slots. Inserts a copy where a value is needed in another domain, and the signals and
// waits that synchronise streams with each other and with the host.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "host/exec/executable.h"
#include "host/exec/knowledge.h"
#include "host/exec/plan.h"

namespace tenon::runtime {

class Schedule {
 public:
  /// Fills `plan`. All arguments are borrowed.
  Schedule(const Executable& executable, const Knowledge& knowledge, Plan* plan);

  /// A slot in `domain` for a value that the next step makes. Dynamic unless `fixed` and its shape and type are known.
  SlotIndex make_slot(ir::ValueId value, const MemoryDomain* domain, bool fixed);
  /// Outputs of these values stay where they are made. Call it first.
  void keep(std::unordered_set<ir::ValueId> values) { kept_ = std::move(values); }
  /// An input of the graph. `domain`: host memory, or where its state or the value is (`stays`).
  SlotIndex make_input(ir::ValueId value, const MemoryDomain* domain, bool stays);
  /// The domain in which the value was made; host memory for one that is known and for one that is no numeric tensor.
  const MemoryDomain* domain_of(ir::ValueId value) const;
  /// The slot that holds the value in `domain`. Schedules a copy from the nearest slot when there is none yet. `reader`:
  /// the instance that reads it, or null for the host.
  Result<SlotIndex> find_slot(ir::ValueId value, const MemoryDomain* domain,
                              const std::shared_ptr<Instance>& reader);
  /// The same for an input of a claim. A claim that reads host memory while its run function is called also reads memory
  /// of a device that has an address for the host.
  Result<SlotIndex> find_input(ir::ValueId value, const MemoryDomain* domain,
                               const std::shared_ptr<Instance>& reader);

  /// Appends the step after the waits that its inputs need.
  void add(PlanStep step);
  /// Appends waits for all work that is still under way. Call it last.
  void finish();

 private:
  struct StreamState {
    uint32_t last_step = plan::kNone;  // last work enqueued
    bool unsignalled = false;          // work was enqueued after the last signal
    uint32_t signalled_before = 0;     // steps below this one are covered by the last signal
    uint32_t point = plan::kNone;      // of the last signal
    uint32_t finished_before = 0;      // the host has waited for steps below this one
    std::vector<uint32_t>
        ordered;  // per stream: its steps below this one are done before work that follows here
  };
  struct Writer {
    uint32_t stream = plan::kNone;
    uint32_t step = plan::kNone;
  };

  const StatePair* pair_of_output(ir::ValueId value) const;
  uint32_t stream_of(const std::shared_ptr<Instance>& instance);
  Result<SlotIndex> constant_slot(ir::ValueId value, ir::TensorPtr tensor, const MemoryDomain* domain);
  SlotIndex nearest(const std::vector<SlotIndex>& slots, const MemoryDomain& domain) const;
  Result<SlotIndex> copy_slot(SlotIndex from, const MemoryDomain* domain,
                              const std::shared_ptr<Instance>& reader);
  void wait_for(SlotIndex slot, uint32_t reader_stream);
  void signal(uint32_t stream);
  void wait(uint32_t stream);
  void wait_on_device(uint32_t stream, uint32_t other);
  void push(PlanStep step);

  const Executable& executable_;
  const Knowledge& knowledge_;
  Plan* plan_;
  std::unordered_map<ir::ValueId, std::vector<SlotIndex>> slots_of_;
  std::unordered_set<ir::ValueId> kept_;
  std::vector<Writer> writers_;  // per slot
  std::vector<StreamState> streams_;
  uint32_t running_ = plan::kNone;  // stream of the last step added; kNone: the host
};

/// Per step: the wait step after which its work is known to be done; kNone when it is done with the step itself.
std::vector<uint32_t> finished_at(const Plan& plan);

}  // namespace tenon::runtime
