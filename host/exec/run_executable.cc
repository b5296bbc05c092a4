#include "host/exec/run_executable.h"

#include <algorithm>
#include <cstring>

#include "host/exec/frame_pool.h"
#include "host/exec/labels.h"

namespace tenon::runtime {
namespace {

Status does_not_fit(const Executable& executable, size_t output, const tenon_tensor& given,
                    const tenon_tensor& made) {
  const auto text = [](const tenon_tensor& tensor) {
    return str_cat(ir::element_type_name(static_cast<ir::ElementType>(tensor.dtype)),
                   ir::Shape::of({tensor.dims, tensor.dims + tensor.rank}).to_string());
  };
  return invalid_input("output '", executable.graph().value(executable.outputs()[output]).name, "' is ",
                       text(made), ", but the value given for it is ", text(given));
}

bool fits(const tenon_tensor& given, const tenon_tensor& made) {
  return given.kind == TENON_KIND_TENSOR && made.kind == TENON_KIND_TENSOR && given.dtype == made.dtype &&
         std::equal(given.dims, given.dims + given.rank, made.dims, made.dims + made.rank);
}

/// Gives a frame back to its pool, or sets it aside when its work has not ended.
class Lease {
 public:
  Lease(const Executable& executable, std::unique_ptr<Frame> frame)
      : executable_(executable), frame_(std::move(frame)) {}
  ~Lease() {
    if (frame_->is_unfinished()) {
      executable_.shared().set_aside->add(std::move(frame_));
      return;
    }
    frame_->clear();
    executable_.frames().give_back(std::move(frame_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Frame* operator->() { return frame_.get(); }
  Frame& operator*() { return *frame_; }

 private:
  const Executable& executable_;
  std::unique_ptr<Frame> frame_;
};

/// Binds memory for the outputs whose shape is known: the caller's, or new.
Status bind_outputs(const Executable& executable, Frame& frame, std::span<ValueRef> outputs) {
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    if (!frame.needs_output(o) || executable.is_state_output(o)) continue;
    const tenon_tensor& planned = frame.output(o);
    if (!outputs[o]) {
      // Two outputs may be the same value: the second is copied from the first after the Run.
      const SlotIndex slot = frame.plan().outputs[o];
      const auto first = std::find(frame.plan().outputs.begin(), frame.plan().outputs.end(), slot);
      if (first - frame.plan().outputs.begin() < o) continue;
      Result<ValueRef> made = make_tensor(planned.dtype, {planned.dims, planned.rank});
      if (!made.ok()) {
        return std::move(made).error().with_context(
            label_of_value(executable.graph(), executable.outputs()[o]));
      }
      outputs[o] = std::move(*made);
    } else if (!fits(outputs[o]->tensor, planned)) {
      return does_not_fit(executable, o, outputs[o]->tensor, planned);
    }
    frame.bind_output(o, outputs[o]->tensor.data);
  }
  return ok_status();
}

/// Work that is still under way may use the values.
void keep_values(Frame& frame, std::span<const Argument> arguments, std::span<const ValueRef> outputs) {
  for (const Argument& argument : arguments) {
    frame.keep(argument.owner);
    frame.keep(argument.keeper);
  }
  for (const ValueRef& output : outputs) frame.keep(output);
}

/// Collects the outputs that the Run did not write into the caller's memory.
Status collect_outputs(const Executable& executable, Frame& frame, std::span<ValueRef> outputs) {
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    if (executable.is_state_output(o)) continue;
    const tenon_tensor& made = frame.output(o);
    if (!outputs[o]) {
      if (frame.needs_output(o)) {
        ASSIGN_OR_RETURN(outputs[o], copy_tensor(made));
      } else {
        ASSIGN_OR_RETURN(outputs[o], frame.take_output(o));
      }
      continue;
    }
    const tenon_tensor& given = outputs[o]->tensor;
    if (frame.needs_output(o) && given.data == made.data) continue;
    if (!fits(given, made) || made.dtype == TENON_STRING) return does_not_fit(executable, o, given, made);
    if (made.byte_size != 0) std::memcpy(given.data, made.data, made.byte_size);
  }
  return ok_status();
}

}  // namespace

Argument::Argument(ValueRef value) {
  if (value) {
    tensor = value->tensor;
    if (!value->is_tensor()) tensor.object = value.get();
  }
  owner = std::move(value);
}

Status run_executable(const Executable& executable, RunState& state, std::span<const Argument> arguments,
                      std::span<ValueRef> outputs, StateMemory* memory) {
  ASSIGN_OR_RETURN(std::unique_ptr<Frame> taken, executable.frames().take(executable, arguments));
  Lease frame(executable, std::move(taken));
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    if (!executable.is_state_input(i)) frame->bind_input(i, arguments[i].tensor, arguments[i].owner);
  }
  RETURN_IF_ERROR(bind_outputs(executable, *frame, outputs));
  if (memory != nullptr) RETURN_IF_ERROR(memory->bind(*frame));
  Status status = frame->run(state);
  if (!status.ok() && frame->is_unfinished()) keep_values(*frame, arguments, outputs);
  if (status.ok()) status = collect_outputs(executable, *frame, outputs);
  if (memory == nullptr) return status;
  if (status.ok()) status = memory->take(*frame);
  if (!status.ok()) memory->fail(*frame);
  return status;
}

}  // namespace tenon::runtime
