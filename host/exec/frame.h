// A frame: the memory of one Run of a plan, with every descriptor and argument filled in. A frame serves one Run at
// a time and is reused, so a Run with static shapes allocates nothing, takes no lock and looks nothing up.
//
// A value whose shape is known only during the Run is made by a dynamic step and held by its slot until its last
// reader is done.
//
// A frame records each island of its plan in its first Run, and plays the recording back in every Run. A traced Run uses
// streams that measure their work, and recordings made with them; other Runs pay nothing for this.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/device/program.h"
#include "host/device/tenon_run.h"
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
  uint32_t index = 0;             // of the step; of the first one for an island
  uint32_t island = plan::kNone;  // index into Plan::islands
};

/// One entry of the list that a Run walks: a step with its arguments.
struct BoundStep {
  tenon_status (*run)(const tenon_run_args* args, tenon_error* error) = nullptr;
  const StepArgs* args = nullptr;
};

/// An island in a frame.
struct FrameIsland {
  Recording recording;             // empty before the first Run
  bool direct = false;             // the provider does not record it: its steps are enqueued one by one
  std::vector<std::mutex*> locks;  // of its programs, in the order in which they are taken
};

/// What queued work of a dynamic step uses.
struct Retired {
  Binding binding;
  Buffer workspace;
  uint32_t stream = plan::kNone;
};

/// What traced Runs use in place of the streams of other Runs, and the other way round during a traced Run.
struct OtherStreams {
  std::vector<Stream> streams;        // empty before the first traced Run
  std::vector<Recording> recordings;  // per island
  std::vector<std::string> tracks;    // per timed stream: its name in traces
};

class Frame final : public OutputSink {
 public:
  /// Allocates all slabs and streams. `executable` must outlive the Runs of the frame.
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
  /// The same with memory of a state or of a value on a device, in the plan's domain and of at least the plan's size. It
  /// must stay valid until unbind_staying().
  void bind_input(uint32_t index, const Buffer& memory);
  void bind_output(uint32_t index, const Buffer& memory);
  /// Memory of a value in the plan's domain.
  void bind_output(uint32_t index, const tenon_value& value);
  /// Ends what providers bound to memory of states and values on devices, so that it may be freed. Before the next Run it
  /// is bound anew.
  void unbind_staying();

  /// Runs all steps. After a failure no output is valid. A Run that was stopped may leave work under way, see
  /// is_unfinished().
  Status run(RunState& state);
  /// True when a failed Run left work under way that may use the frame: its own, or that of a nested graph. The frame must
  /// not be used or freed; it belongs into SetAside.
  bool is_unfinished() const { return unfinished_; }
  /// Keeps a value, or memory of a state, alive as long as the frame is unfinished.
  void keep(ValueRef value) { kept_.push_back(std::move(value)); }
  void keep(std::shared_ptr<Buffer> memory) { kept_memory_.push_back(std::move(memory)); }
  /// Waits until `end_ns` on the steady clock for the work of a failed Run (INT64_MAX: as long as it takes; a time in the
  /// past: only asks). True when it has ended.
  bool finish_work(int64_t end_ns);
  /// An instance with work of a failed Run, or null.
  std::shared_ptr<Instance> busy_instance() const;
  /// True when the frame has memory or streams of `device`.
  bool uses(const Device& device) const;

  /// After a Run: the descriptor of output `index`; borrowed.
  const tenon_tensor& output(uint32_t index) const { return slots_[plan_->outputs[index]].tensor; }
  /// After a Run: a new value for an output that is not in the caller's memory. Copies memory that the Run did not make.
  Result<ValueRef> take_output(uint32_t index) const;
  /// The same for an output in memory of a device: the value stays in that domain. `limit`: see make_device_tensor().
  Result<ValueRef> take_device_output(uint32_t index, uint64_t limit) const;
  /// Releases everything that was made during the Run, and the owners of the inputs.
  void clear();

  // For steps.
  FrameSlot& slot(SlotIndex index) { return slots_[index]; }
  /// The slot's tensor as a provider sees it that declared `domain` for it: memory of a device that the host reads in
  /// place looks like host memory.
  tenon_tensor seen_in(const MemoryDomain& domain, SlotIndex slot) const;
  const PlanStep& step(uint32_t index) const { return plan_->steps[index]; }
  /// What the times of a device call the work of this step.
  uint64_t work_id_of(const PlanStep& step) const {
    return static_cast<uint64_t>(&step - plan_->steps.data()) + 1;
  }
  RunState& state() { return *state_; }
  std::span<tenon_tensor> input_tensors(uint32_t step);
  std::span<tenon_tensor> output_tensors(uint32_t step);
  tenon_tensor& workspace_tensor(uint32_t step);
  tenon_run_args& args(uint32_t step) { return args_[step]; }
  Stream& stream(uint32_t index) { return streams_[index]; }
  uint64_t& point(uint32_t index) { return points_[index]; }
  FrameIsland& island(uint32_t index) { return islands_[index]; }
  /// True in a traced Run on a provider that does not measure its work: each step of the island gets an event.
  bool is_seen_in_pieces(uint32_t island) const {
    return state_->control.trace != nullptr && !plan_->streams[plan_->islands[island].stream]->has_times();
  }
  /// True when there is a recording that this Run uses.
  bool is_played(uint32_t island) const {
    return static_cast<bool>(islands_[island].recording) && !is_seen_in_pieces(island);
  }
  /// Blocks until the point of the stream is done, at most until the Run must stop.
  Status wait_for(uint32_t stream, uint64_t point);
  /// Binds a step whose addresses changed since it was bound.
  Status bind(uint32_t step);
  /// Between record_begin and record_end.
  bool is_recording() const { return recording_; }
  /// A plan that is made now would be better. The pool then forgets the frame and its plan.
  void set_outdated() { outdated_ = true; }
  bool is_outdated() const { return outdated_; }
  /// Keeps what queued work uses until the Run is over: a plan ends with a wait for each stream.
  void retire(Retired used);
  /// Waits for the work that uses what was retired, and frees it.
  tenon_status finish_retired();
  uint64_t retired_bytes() const { return retired_bytes_; }
  Binding& binding(uint32_t step) { return bindings_[step]; }
  /// Not 0 when an address of the step changed since it was bound.
  uint8_t& stale(uint32_t step) { return stale_[step]; }
  /// Stores the reason for the executor and returns its code.
  tenon_status fail(Status status);
  /// Records the island. After a failure there is no recording. `refused` then names the step that the provider cannot
  /// record, and is empty after other failures.
  tenon_status record(uint32_t island, std::string* refused);
  /// Forgets the failure of record(). From now on the island's steps are enqueued one by one.
  void enqueue_directly(uint32_t island, std::string refused);
  /// Runs the island's steps one by one.
  tenon_status run_steps_of(uint32_t island);
  /// Drops the values and buffers of dynamic slots.
  void release(std::span<const SlotIndex> slots);

  // OutputSink, for dynamic steps.
  Status alloc_output(uint64_t step, uint32_t output, std::span<const int64_t> dims,
                      tenon_tensor* out_tensor) override;
  Status set_strings(uint64_t step, uint32_t output, ValueRef value) override;
  Status set_object(uint64_t step, uint32_t output, ValueRef value) override;
  Result<ValueRef> value_from_input(uint64_t step, uint32_t input) override;

  /// Allocates memory for a dynamic slot and fills its descriptor, or checks that a planned slot fits.
  Status make_room(SlotIndex slot, uint32_t dtype, std::span<const int64_t> dims, tenon_stream* stream,
                   WhenFull when_full = WhenFull::kFreeIdle);
  void hold(SlotIndex slot, ValueRef value);

 private:
  Frame(const Executable& executable, std::shared_ptr<const Plan> plan);
  Status allocate();
  std::string largest_value_in(uint32_t slab) const;  // for errors
  void fill_slots();
  void fill_steps();
  void fill_provider_step(uint32_t index);
  void fill_islands();
  void patch(SlotIndex slot, const tenon_tensor& from);
  void adopt(RunState& state);
  /// Changes between the streams of traced and of other Runs.
  Status measure(bool on);
  /// After a traced Run, when its work is done: adds what the devices did to the trace.
  void add_times();
  tenon_status run_all(std::span<const BoundStep> steps);
  tenon_status run_plain(std::span<const BoundStep> steps);
  tenon_status run_watched(std::span<const BoundStep> steps);
  /// Lets the provider of the step add spans to the trace.
  void trace_spans_of(const PlanStep& step);
  Status describe_failure(tenon_status code);
  void drain();

  const Executable& executable_;
  std::shared_ptr<const Plan> plan_;
  std::vector<Buffer> slabs_;
  std::vector<Stream> streams_;
  std::vector<uint64_t> points_;  // per point of the plan: its number in this Run
  std::vector<uint64_t>
      pending_;  // per stream, after a failed Run: the last point; 0 when nothing is under way
  std::vector<FrameSlot> slots_;
  std::vector<tenon_tensor> tensors_;
  std::vector<StepArgs> args_, island_args_;
  std::vector<BoundStep> steps_;   // per step of the plan
  std::vector<BoundStep> walked_;  // what a Run walks: an island is one entry
  std::vector<Binding> bindings_;  // per step; empty where the provider does not bind
  std::vector<uint8_t> stale_;     // per step, see stale()
  std::vector<Retired> retired_;
  uint64_t retired_bytes_ = 0;  // of their workspaces
  std::vector<ValueRef> kept_;
  std::vector<FrameIsland> islands_;  // destroyed before what the recordings use
  OtherStreams other_;                // the same
  RunState* state_ = nullptr;
  const uint32_t* cancel_ = nullptr;
  Status failure_;
  uint32_t failed_step_ = plan::kNone;
  bool unfinished_ = false, recording_ = false, outdated_ = false;
  bool measured_ = false;  // the streams are those of traced Runs
  tenon_error error_;
  std::vector<std::shared_ptr<Buffer>> kept_memory_;
};

}  // namespace tenon::runtime
