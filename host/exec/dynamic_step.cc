// Steps whose shapes are known only during the Run. The shapes are read from the slots, the part is prepared for
// them unless it already is, the outputs get memory, and the step runs.
#include <algorithm>
#include <cstring>

#include "host/exec/knowledge.h"
#include "host/exec/prepare_part.h"
#include "host/exec/steps.h"

namespace tenon::runtime {
namespace {

/// Workspaces of queued work that a Run keeps before it waits.
constexpr uint64_t kMostRetiredBytes = uint64_t{64} << 20;

class DynamicRun {
 public:
  DynamicRun(Frame& frame, uint32_t index)
      : frame_(frame), index_(index), step_(frame.step(index)), part_(*step_.part) {}

  tenon_status run(tenon_error* error) {
    gather_inputs();
    Status status = find_prepared();
    if (status.ok()) status = make_outputs();
    if (status.ok()) status = make_workspace();
    if (!status.ok()) return frame_.fail(std::move(status).with_context(part_.label));

    tenon_run_args& args = frame_.args(index_);
    args.program = prepared().program().handle();
    args.prepared = prepared().handle();
    tenon_run& run = frame_.state().run;
    OutputSink* const outer_sink = std::exchange(run.sink, &frame_);
    const uint64_t outer_step = std::exchange(run.step, index_);
    const tenon_status code = call(args, error);
    run.sink = outer_sink;
    run.step = outer_step;
    if (code != TENON_OK) return code;
    status = check_outputs();
    if (!status.ok()) return frame_.fail(std::move(status).with_context(part_.label));
    frame_.release(step_.releases);
    return TENON_OK;
  }

 private:
  const Prepared& prepared() const { return step_.prepared != nullptr ? *step_.prepared : *found_->prepared; }
  tenon_stream* stream() const {
    return step_.stream == plan::kNone ? nullptr : frame_.stream(step_.stream).handle();
  }

  void gather_inputs() {
    const std::span<tenon_tensor> inputs = frame_.input_tensors(index_);
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = frame_.seen_in(*part_.input_domains[i], step_.inputs[i]);
  }

  plan::Signature signature() const {
    plan::Signature signature;
    const std::span<tenon_tensor> inputs = frame_.input_tensors(index_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const tenon_tensor& tensor = inputs[i];
      if (tensor.kind != TENON_KIND_TENSOR) {
        signature.add_absent();
        continue;
      }
      signature.add_word(tensor.dtype);
      signature.add_shape({tensor.dims, tensor.rank});
      if (part_.shape_inputs[i]) {
        signature.add_bytes(
            {static_cast<const std::byte*>(tensor.data), static_cast<size_t>(tensor.byte_size)});
      }
    }
    return signature;
  }

  Status find_prepared() {
    if (step_.prepared != nullptr) return ok_status();
    plan::Signature key = signature();
    {
      const std::lock_guard lock(step_.dynamic->mutex);
      found_ = step_.dynamic->entries.find(key);
    }
    if (found_ != nullptr) return ok_status();
    ASSIGN_OR_RETURN(found_, prepare());
    const std::lock_guard lock(step_.dynamic->mutex);
    step_.dynamic->entries.insert(key, found_, 0);
    return ok_status();
  }

  Result<std::shared_ptr<const DynamicPrepared>> prepare() {
    const Executable& executable = frame_.executable();
    Knowledge knowledge(executable.graph());
    for (size_t i = 0; i < part_.inputs.size(); ++i) RETURN_IF_ERROR(learn(i, &knowledge));
    RETURN_IF_ERROR(knowledge.infer(part_.nodes));
    RETURN_IF_ERROR(check_sizes(executable.shared(), part_, knowledge));
    auto out = std::make_shared<DynamicPrepared>();
    ASSIGN_OR_RETURN(out->prepared, prepare_part(executable.shared(), part_, knowledge));
    for (ir::ValueId value : part_.outputs) {
      out->dtypes.push_back(static_cast<uint32_t>(knowledge.type(value).element));
    }
    return std::shared_ptr<const DynamicPrepared>(std::move(out));
  }

  /// Tells inference the type of input `i`. Its value too, when the plan knows it or Prepare reads it.
  Status learn(size_t i, Knowledge* knowledge) {
    const tenon_tensor& tensor = frame_.input_tensors(index_)[i];
    const Slot& slot = frame_.plan().slots[step_.inputs[i]];
    if (slot.known != nullptr) {
      knowledge->set_value(part_.inputs[i], slot.known);
      return ok_status();
    }
    if (tensor.kind != TENON_KIND_TENSOR) return ok_status();  // the graph's own type is used
    std::vector<int64_t> dims(tensor.dims, tensor.dims + tensor.rank);
    const auto element = static_cast<ir::ElementType>(tensor.dtype);
    if (!part_.shape_inputs[i]) {
      knowledge->set_type(part_.inputs[i], ir::Type::tensor(element, ir::Shape::of(dims)));
      return ok_status();
    }
    ASSIGN_OR_RETURN(const ValueRef copied, copy_tensor(tensor));
    ASSIGN_OR_RETURN(ir::TensorPtr value, tensor_of(copied));
    knowledge->set_value(part_.inputs[i], std::move(value));
    return ok_status();
  }

  Status make_outputs() {
    const std::span<tenon_tensor> outputs = frame_.output_tensors(index_);
    for (size_t o = 0; o < outputs.size(); ++o) {
      const SlotIndex s = step_.outputs[o];
      const PreparedOutput& output = prepared().outputs()[o];
      const Slot& slot = frame_.plan().slots[s];
      const uint32_t dtype = found_ != nullptr ? found_->dtypes[o] : slot.dtype;
      if (!output.at_run && dtype != TENON_STRING && slot.value_kind == TENON_KIND_TENSOR) {
        if (!take_over(o, output, dtype)) RETURN_IF_ERROR(frame_.make_room(s, dtype, output.dims, stream()));
      } else {
        start_empty(s, dtype, output);
      }
      outputs[o] = frame_.slot(s).tensor;
    }
    return ok_status();
  }

  /// Describes an output whose memory is made while the step runs.
  void start_empty(SlotIndex s, uint32_t dtype, const PreparedOutput& output) {
    FrameSlot& slot = frame_.slot(s);
    if (frame_.plan().slots[s].kind != SlotKind::kDynamic) return;
    const Slot& planned = frame_.plan().slots[s];
    slot.tensor = tenon_tensor{};
    slot.tensor.kind = planned.value_kind;
    slot.tensor.dtype = dtype;
    slot.tensor.domain = planned.domain->local_id;
    slot.dims = output.dims;
    if (output.at_run) return;
    slot.tensor.rank = static_cast<uint32_t>(slot.dims.size());
    slot.tensor.dims = slot.dims.data();
  }

  /// Gives a dynamic output the memory of an input, where the provider allows it: as a view, or in place when nothing
  /// else holds the memory.
  bool take_over(size_t o, const PreparedOutput& output, uint32_t dtype) {
    if (output.alias.kind == TENON_ALIAS_NONE || stream() != nullptr) return false;
    const SlotIndex to = step_.outputs[o], from = step_.inputs[output.alias.input];
    const Slot& planned = frame_.plan().slots[to];
    FrameSlot& source = frame_.slot(from);
    if (planned.kind != SlotKind::kDynamic || !source.value || !planned.domain->is_host()) return false;
    if (frame_.plan().slots[from].kind != SlotKind::kDynamic || source.tensor.dtype == TENON_STRING)
      return false;
    uint64_t bytes = 0;
    if (!tensor_bytes(dtype, output.dims, &bytes)) return false;
    const uint64_t offset = output.alias.kind == TENON_ALIAS_VIEW ? output.alias.byte_offset : 0;
    if (offset > source.tensor.byte_size || bytes > source.tensor.byte_size - offset) return false;
    if (output.alias.kind == TENON_ALIAS_MAY_OVERWRITE && !is_last_holder(from, source)) return false;
    FrameSlot& slot = frame_.slot(to);
    slot.value = source.value;
    slot.dims = output.dims;
    slot.tensor = tenon_tensor{};
    slot.tensor.kind = TENON_KIND_TENSOR;
    slot.tensor.dtype = dtype;
    slot.tensor.rank = static_cast<uint32_t>(slot.dims.size());
    slot.tensor.dims = slot.dims.data();
    slot.tensor.byte_size = bytes;
    slot.tensor.data = static_cast<std::byte*>(source.tensor.data) + offset;
    return true;
  }

  bool is_last_holder(SlotIndex from, const FrameSlot& source) const {
    return source.value->count.load(std::memory_order_acquire) == 1 &&
           std::find(step_.releases.begin(), step_.releases.end(), from) != step_.releases.end() &&
           std::count(step_.inputs.begin(), step_.inputs.end(), from) == 1;
  }

  Status make_workspace() {
    tenon_run_args& args = frame_.args(index_);
    args.workspace = nullptr;
    const uint64_t bytes = prepared().workspace_bytes();
    if (bytes == 0) return ok_status();
    tenon_tensor& workspace = frame_.workspace_tensor(index_);
    workspace = tenon_tensor{};
    workspace.kind = TENON_KIND_TENSOR;
    workspace.dtype = TENON_UINT8;
    workspace.byte_size = bytes;
    ASSIGN_OR_RETURN(workspace_, Buffer::allocate(*prepared().workspace_domain(), bytes, stream()));
    workspace_.place(&workspace, 0);
    args.workspace = &workspace;
    return ok_status();
  }

  tenon_status call(tenon_run_args& args, tenon_error* error) {
    const Program& program = prepared().program();
    Binding binding;
    if (program.instance().has_bind()) {
      Result<Binding> made =
          Binding::make(step_.prepared != nullptr ? step_.prepared : found_->prepared,
                        {args.inputs, args.input_count}, {args.outputs, args.output_count}, args.workspace);
      if (!made.ok()) return frame_.fail(std::move(made).error());
      binding = std::move(*made);
      args.binding = binding.handle();
    }
    tenon_status code = TENON_OK;
    if (std::mutex* mutex = program.run_mutex()) {
      const std::lock_guard lock(*mutex);
      code = program.api().run(&args, error);
    } else {
      code = program.api().run(&args, error);
    }
    if (code != TENON_OK) {
      // A late error names the work that failed; this step is not to blame.
      Status status =
          Device::is_late(*error) ? part_.instance->status(code, *error) : program.status(code, *error);
      *error = make_error();
      code = frame_.fail(std::move(status));
    }
    if (stream() != nullptr && (binding.handle() != nullptr || workspace_)) {
      frame_.retire({std::move(binding), std::move(workspace_), step_.stream});
      if (code == TENON_OK) code = submit();
    }
    return code;
  }

  /// Lets the device begin while the host prepares the next step. Waits if much memory is kept for queued work.
  tenon_status submit() {
    if (frame_.retired_bytes() > kMostRetiredBytes) return frame_.finish_retired();
    Status status = frame_.stream(step_.stream).flush();
    return status.ok() ? TENON_OK : frame_.fail(std::move(status));
  }

  Status check_outputs() const {
    for (SlotIndex s : step_.outputs) {
      const tenon_tensor& tensor = frame_.slot(s).tensor;
      if (frame_.plan().slots[s].kind != SlotKind::kDynamic || tensor.kind != TENON_KIND_TENSOR) continue;
      const bool made_running = tensor.dims == nullptr || tensor.dtype == TENON_STRING;
      if (made_running && !frame_.slot(s).value && !frame_.slot(s).buffer) {
        return internal_error("the provider ran but did not make output '",
                              frame_.executable().graph().value(frame_.plan().slots[s].value).name, "'")
            .with_instance(part_.instance->id());
      }
    }
    return ok_status();
  }

  Frame& frame_;
  uint32_t index_;
  const PlanStep& step_;
  const CompiledPart& part_;
  std::shared_ptr<const DynamicPrepared> found_;
  Buffer workspace_;
};

}  // namespace

tenon_status run_dynamic(const tenon_run_args* args, tenon_error* error) {
  const auto& own = *static_cast<const StepArgs*>(args);
  return DynamicRun(*own.frame, own.index).run(error);
}

}  // namespace tenon::runtime
