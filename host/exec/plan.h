// The plan of one executable for one shape signature: slots, steps and memory. Immutable and shared by all frames.
//
// A slot is a value in one memory domain. A value that two devices read has two slots and a copy step between them.
// Steps are in the order of execution. Dynamic steps make the values whose shape is not known before a Run.
//
// Planning has five stages:
//   schedule     orders the steps and makes the slots (schedule.h). Inserts copies, and the signals and waits that
//                synchronise streams. A signal takes a point of its stream and submits the work before it. The host
//                waits for a point before it reads what the stream made. A stream of the same provider waits for it on
//                the device instead. Values that are known now and that a device reads are uploaded once for all Runs.
//   staging      gives steps that can be recorded fixed addresses (islands.h): what enters from the caller or leaves
//                to it passes through slots of the plan, and the host copies to and from them.
//   memory       places the slots in slabs (plan_memory.h). Work of a stream is done in order, so values that only one
//                stream uses share bytes; for others a value is free after the host has waited for its last reader.
//   descriptors  numbers a frame's descriptors and lists those that change with the caller's memory.
//   islands      finds the runs of steps that are recorded (islands.h). An island is a maximal sequence of steps on one
//                stream that records, without signals and waits, whose descriptors do not change. A frame records it
//                in its first Run and plays it back in every Run. Plans with dynamic values have no islands. Steps that
//                use memory of a state or of a value on a device are in none: it may be elsewhere in each Run.
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
#include "host/exec/uploads.h"

namespace tenon::runtime {

using SlotIndex = uint32_t;
inline constexpr uint32_t kNoSlot = TENON_NO_INDEX;

/// Where the memory of a slot comes from.
enum class SlotKind : uint8_t {
  kConstant,  // a constant, the same in every frame
  kInput,     // an input of the graph, in memory of the caller, of a value or of a state
  kOutput,    // an output of the graph, in memory of the caller, of a value or of a state
  kPlanned,   // in a slab of the frame, or a view of another slot
  kDynamic,   // allocated during the Run
};

struct Slot {
  SlotKind kind = SlotKind::kDynamic;
  bool stays =
      false;  // kInput, kOutput: memory of a state, or of a value on a device, in any domain; not staged
  ir::ValueId value = ir::kNone;
  const MemoryDomain* domain = nullptr;
  uint32_t value_kind = TENON_KIND_TENSOR;
  uint32_t dtype = TENON_UNDEFINED;  // of the innermost tensors; UNDEFINED when known only during the Run
  std::vector<int64_t> dims;         // empty for kDynamic
  uint64_t bytes = 0;
  ConstantPtr constant;  // kConstant in host memory
  UploadPtr upload;      // kConstant in a domain of a device
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
  kCopy,         // from one slot to another; without a stream and between memory of the host, the host copies
  kSignal,       // takes a point of a stream and submits the stream's work
  kWait,         // the host waits for the point
  kStreamWait,   // work that is enqueued on `stream` later begins after the point, which is another stream's
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
  uint32_t point = plan::kNone;     // kSignal, kWait, kStreamWait: index into Plan::points
  std::vector<SlotIndex> releases;  // dynamic slots that no later step needs
  std::unique_ptr<DynamicCache> dynamic;
  uint32_t first_tensor = 0;  // first of its descriptors in a frame: inputs, outputs, workspace
};

/// A descriptor of a frame that refers to memory of an input or output of the graph.
struct Patch {
  uint32_t tensor;  // index of the descriptor
  uint32_t step;
  uint64_t byte_offset;
  bool as_host;  // the step reads memory of a device as host memory
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

/// Consecutive steps that are recorded together.
struct Island {
  uint32_t first_step = 0, count = 0;
  uint32_t stream = 0;
};

struct Plan {
  plan::Signature signature;
  std::vector<Slot> slots;
  std::vector<PlanStep> steps;
  std::vector<PlanSlab> slabs;
  std::vector<SlotIndex> inputs;  // per input of the executable
  // Per output of the executable: in host memory, where its state is, or where a value that is kept is made.
  std::vector<SlotIndex> outputs;
  std::vector<std::shared_ptr<Instance>> streams;
  std::vector<uint32_t> points;  // per point: the stream that it is taken of
  std::vector<Island> islands;   // in the order of steps
  uint32_t tensor_count = 0;
  std::vector<std::vector<Patch>> patches;           // per slot
  std::vector<std::vector<SlotPatch>> slot_patches;  // per slot
  bool is_static = true;                             // no kDynamic slot
  std::vector<bool> updates_in_place;  // per state pair: the output takes the memory of the input
  bool any_stays = false;              // see Slot::stays
  // Of the inputs: the slots refer to their domains, and the device of a value need not be one of the session's.
  std::vector<std::shared_ptr<Device>> devices;

  uint64_t slab_bytes() const;
  bool has_dynamic_slots() const;
};

}  // namespace tenon::runtime
