// The plan of one executable for one shape signature: slots, steps and memory. Immutable and shared by all frames.
//
// A slot is a value in one memory domain. A value that two devices read has two slots and a copy step between them.
// Steps are in the order of execution. Dynamic steps make the values whose shape is not known before a Run.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/plan/lru.h"
#include "core/plan/plan.h"
#include "host/device/constant_pool.h"
#include "host/device/program.h"
#include "host/exec/compiled_part.h"

namespace tenon::runtime {

using SlotIndex = uint32_t;
inline constexpr uint32_t kNoSlot = TENON_NO_INDEX;

/// Where the memory of a slot comes from.
enum class SlotKind : uint8_t {
  kConstant,  // a constant, the same in every frame
  kInput,     // an input of the graph, in the caller's memory
  kOutput,    // an output of the graph, in the caller's memory
  kPlanned,   // in a slab of the frame, or a view of another slot
  kDynamic,   // allocated during the Run
};

struct Slot {
  SlotKind kind = SlotKind::kDynamic;
  ir::ValueId value = ir::kNone;
  const MemoryDomain* domain = nullptr;
  uint32_t value_kind = TENON_KIND_TENSOR;
  uint32_t dtype = TENON_UNDEFINED;  // of the innermost tensors; UNDEFINED when known only during the Run
  std::vector<int64_t> dims;         // empty for kDynamic
  uint64_t bytes = 0;
  ConstantPtr constant;  // kConstant
  ir::TensorPtr known;   // kConstant: the same value, for inference
  // kPlanned: `offset` bytes into slab `slab`, or into slot `root` when that is not in a slab.
  SlotIndex root = kNoSlot;
  uint32_t slab = plan::kNone;
  uint64_t offset = 0;
};

enum class StepKind : uint8_t {
  kRun,          // a provider's run; everything is known before the Run
  kDynamic,      // a provider's run whose descriptors are filled in during the Run
  kControlFlow,  // a control-flow node, run by the executor
  kCopy,         // from one domain to another
  kSignal,       // records an event on a stream and submits the stream's work
  kWait,         // waits for that event
};

/// A part that was prepared during a Run; cached by signature.
struct DynamicPrepared {
  std::shared_ptr<const Prepared> prepared;
  std::vector<uint32_t> dtypes;  // per output
};

struct DynamicCache {
  std::mutex mutex;
  plan::Lru<const DynamicPrepared> entries{16, 0};
};

struct PlanStep {
  StepKind kind = StepKind::kRun;
  const CompiledPart* part = nullptr;        // kRun, kDynamic, kControlFlow
  std::vector<SlotIndex> inputs, outputs;    // kNoSlot where missing or not used; kCopy: one of each
  std::shared_ptr<const Prepared> prepared;  // kRun, and kDynamic when its input shapes are known
  uint64_t workspace_bytes = 0;
  plan::Place workspace;
  uint32_t stream = plan::kNone;    // index into Plan::streams
  uint32_t event = plan::kNone;     // kSignal, kWait
  std::vector<SlotIndex> releases;  // dynamic slots that no later step needs
  std::unique_ptr<DynamicCache> dynamic;
  uint32_t first_tensor = 0;  // first of its descriptors in a frame: inputs, outputs, workspace
};

/// A descriptor of a frame that refers to memory of an input or output of the graph.
struct Patch {
  uint32_t tensor;  // index of the descriptor
  uint32_t step;
  uint64_t byte_offset;
};
/// A slot that is a view of an input or output of the graph.
struct SlotPatch {
  SlotIndex slot;
  uint64_t byte_offset;
};

struct PlanSlab {
  const MemoryDomain* domain = nullptr;
  uint64_t bytes = 0;
};

struct Plan {
  plan::Signature signature;
  std::vector<Slot> slots;
  std::vector<PlanStep> steps;
  std::vector<PlanSlab> slabs;
  std::vector<SlotIndex> inputs;   // per input of the executable
  std::vector<SlotIndex> outputs;  // per output of the executable, in host memory
  std::vector<std::shared_ptr<Instance>> streams;
  uint32_t event_count = 0;
  uint32_t tensor_count = 0;
  std::vector<std::vector<Patch>> patches;           // per slot
  std::vector<std::vector<SlotPatch>> slot_patches;  // per slot
  bool is_static = true;                             // no kDynamic slot

  uint64_t slab_bytes() const;
};

}  // namespace tenon::runtime
