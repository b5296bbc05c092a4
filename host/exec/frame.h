// A frame: the memory of one Run of a plan, with every descriptor and argument filled in. A frame serves one Run at
// a time and is reused, so a Run with static shapes allocates nothing, takes no lock and looks nothing up.
//
// A value whose shape is known only during the Run is made by a dynamic step and held by its slot until its last
// reader is done.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "host/device/transfer.h"
#include "host/exec/executable.h"
#include "host/exec/plan.h"
#include "host/exec/run_control.h"

namespace tenon::runtime {

struct FrameSlot {
  tenon_tensor tensor{};           // as providers of the slot's domain see it
  std::vector<int64_t> dims;       // dynamic slots: `tensor.dims` points here
  ValueRef value;                  // owns the host memory, or is the handle
  std::shared_ptr<Buffer> buffer;  // owns the device memory

  /// True when `tensor` shows all of `value`, in the same shape.
  bool is_whole_value() const;
};

class Frame;

/// The arguments of one step. Steps that the executor runs itself find their frame here.
struct StepArgs : tenon_run_args {
  Frame* frame = nullptr;
  uint32_t index = 0;
};

/// One entry of the list that a Run walks: a step with its arguments.
struct BoundStep {
  tenon_status (*run)(const tenon_run_args* args, tenon_error* error) = nullptr;
  const StepArgs* args = nullptr;
};

class Frame final : public OutputSink {
 public:
  /// Allocates all slabs, streams and events. `executable` must outlive the frame.
  static Result<std::unique_ptr<Frame>> make(const Executable& executable, std::shared_ptr<const Plan> plan);
  ~Frame() override;

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  const Executable& executable() const { return executable_; }

  /// Sets the caller's memory for input `index`, with the plan's type and shape. It must stay valid until the Run is
  /// over. `owner` (may be empty) lets values of the Run share it.
  void bind_input(uint32_t index, const tenon_tensor& tensor, ValueRef owner = {});
  /// True when the caller must give memory for output `index` before a Run, with the dims of `output_slot`.
  bool needs_output(uint32_t index) const { return output_slot(index).kind == SlotKind::kOutput; }
  const Slot& output_slot(uint32_t index) const { return plan_->slots[plan_->outputs[index]]; }
  void bind_output(uint32_t index, void* data);

  /// Runs all steps. After a failure no work is under way and no output is valid.
  Status run(RunState& state);

  /// After a Run: the descriptor of output `index`; borrowed.
  const tenon_tensor& output(uint32_t index) const { return slots_[plan_->outputs[index]].tensor; }
  /// After a Run: a new value for an output that is not in the caller's memory. Copies memory that the Run did not make.
  Result<ValueRef> take_output(uint32_t index) const;
  /// Releases everything that was made during the Run, and the owners of the inputs.
  void clear();

  // For steps.
  FrameSlot& slot(SlotIndex index) { return slots_[index]; }
  const PlanStep& step(uint32_t index) const { return plan_->steps[index]; }
  RunState& state() { return *state_; }
  std::span<tenon_tensor> input_tensors(uint32_t step);
  std::span<tenon_tensor> output_tensors(uint32_t step);
  tenon_tensor& workspace_tensor(uint32_t step);
  tenon_run_args& args(uint32_t step) { return args_[step]; }
  Stream& stream(uint32_t index) { return streams_[index]; }
  Event& event(uint32_t index) { return events_[index]; }
  Binding& binding(uint32_t step) { return bindings_[step]; }
  /// Not 0 when an address of the step changed since it was bound.
  uint8_t& stale(uint32_t step) { return stale_[step]; }
  /// Stores the reason for the executor and returns its code.
  tenon_status fail(Status status);
  /// Drops the values and buffers of dynamic slots.
  void release(std::span<const SlotIndex> slots);

  // OutputSink, for dynamic steps.
  Status alloc_output(uint64_t step, uint32_t output, std::span<const int64_t> dims,
                      tenon_tensor* out_tensor) override;
  Status set_strings(uint64_t step, uint32_t output, ValueRef value) override;
  Status set_object(uint64_t step, uint32_t output, ValueRef value) override;
  Result<ValueRef> value_from_input(uint64_t step, uint32_t input) override;

  /// Allocates memory for a dynamic slot and fills its descriptor, or checks that a planned slot fits.
  Status make_room(SlotIndex slot, uint32_t dtype, std::span<const int64_t> dims, tenon_stream* stream);
  void hold(SlotIndex slot, ValueRef value);

 private:
  Frame(const Executable& executable, std::shared_ptr<const Plan> plan);
  Status allocate();
  std::string largest_value_in(uint32_t slab) const;  // for errors
  void fill_slots();
  void fill_steps();
  void fill_provider_step(uint32_t index);
  void patch(SlotIndex slot, const tenon_tensor& from);
  void adopt(RunState& state);
  uint32_t run_plain(tenon_status* status);
  uint32_t run_watched(tenon_status* status);
  Status describe_failure(uint32_t step, tenon_status code);
  void drain();

  const Executable& executable_;
  std::shared_ptr<const Plan> plan_;
  std::vector<Buffer> slabs_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::vector<FrameSlot> slots_;
  std::vector<tenon_tensor> tensors_;
  std::vector<StepArgs> args_;
  std::vector<BoundStep> steps_;
  std::vector<Binding> bindings_;  // per step; empty where the provider does not bind
  std::vector<uint8_t> stale_;     // per step, see stale()
  RunState* state_ = nullptr;
  const uint32_t* cancel_ = nullptr;
  Status failure_;
  tenon_error error_;
};

/// A tensor's place in its domain, for copies.
Place place_of(const MemoryDomain* domain, const tenon_tensor& tensor);

}  // namespace tenon::runtime
