// Outputs whose memory is allocated while a step runs.
#include <algorithm>

#include "host/device/device_value.h"
#include "host/exec/frame.h"
#include "host/exec/labels.h"

namespace tenon::runtime {
namespace {

Status wrong_shape(const Executable& executable, const Slot& slot, std::span<const int64_t> dims) {
  return internal_error("value '", executable.graph().value(slot.value).name, "' was planned as ",
                        ir::Shape::of(slot.dims).to_string(), ", but the provider made it as ",
                        ir::Shape::of({dims.begin(), dims.end()}).to_string());
}

}  // namespace

Status Frame::make_room(SlotIndex s, uint32_t dtype, std::span<const int64_t> dims, tenon_stream* stream,
                        WhenFull when_full) {
  const Slot& planned = plan_->slots[s];
  FrameSlot& slot = slots_[s];
  if (planned.kind != SlotKind::kDynamic) {
    const bool fits = dtype == planned.dtype &&
                      std::equal(dims.begin(), dims.end(), planned.dims.begin(), planned.dims.end());
    return fits ? ok_status() : wrong_shape(executable_, planned, dims);
  }
  if (planned.domain->is_host()) {
    Result<ValueRef> value = make_tensor(dtype, dims);
    if (!value.ok())
      return std::move(value).error().with_context(label_of_value(executable_.graph(), planned.value));
    hold(s, std::move(*value));
    return ok_status();
  }
  uint64_t bytes = 0;
  if (!tensor_bytes(dtype, dims, &bytes)) return wrong_shape(executable_, planned, dims);
  ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(*planned.domain, bytes, stream, when_full));
  slot.buffer = std::make_shared<Buffer>(std::move(buffer));
  slot.dims.assign(dims.begin(), dims.end());
  slot.tensor = tenon_tensor{};
  slot.tensor.kind = TENON_KIND_TENSOR;
  slot.tensor.dtype = dtype;
  slot.tensor.rank = static_cast<uint32_t>(dims.size());
  slot.tensor.dims = slot.dims.data();
  slot.tensor.domain = planned.domain->local_id;
  slot.tensor.byte_size = bytes;
  if (bytes != 0) slot.buffer->place(&slot.tensor, 0);
  return ok_status();
}

void Frame::hold(SlotIndex s, ValueRef value) {
  FrameSlot& slot = slots_[s];
  slot.tensor = tenon_tensor{};
  if (value) {
    slot.tensor = value->tensor;
    if (!value->is_tensor()) slot.tensor.object = value.get();
  }
  slot.value = std::move(value);
}

Result<ValueRef> Frame::take_device_output(uint32_t index, uint64_t limit) const {
  const SlotIndex s = plan_->outputs[index];
  const FrameSlot& slot = slots_[s];
  const tenon_tensor& made = slot.tensor;
  const std::span<const int64_t> dims(made.dims, made.rank);
  const MemoryDomain& domain = *plan_->slots[s].domain;
  const bool is_own = plan_->slots[s].kind == SlotKind::kDynamic && slot.buffer != nullptr && *slot.buffer;
  if (is_own) return place_tensor(std::move(*slot.buffer), made.dtype, dims);
  ASSIGN_OR_RETURN(ValueRef out, make_device_tensor(domain, made.dtype, dims, limit));
  RETURN_IF_ERROR(copy(place_of(*out.get()), place_of(domain, made), made.byte_size));
  return out;
}

Status Frame::alloc_output(uint64_t step, uint32_t output, std::span<const int64_t> dims,
                           tenon_tensor* out_tensor) {
  const PlanStep& planned = plan_->steps[step];
  if (output >= planned.outputs.size()) return invalid_input("the step has no output ", output);
  const SlotIndex s = planned.outputs[output];
  const uint32_t dtype = output_tensors(static_cast<uint32_t>(step))[output].dtype;
  if (dtype == TENON_STRING || plan_->slots[s].value_kind != TENON_KIND_TENSOR) {
    return invalid_input("output ", output, " is not a numeric tensor");
  }
  tenon_stream* stream = planned.stream == plan::kNone ? nullptr : streams_[planned.stream].handle();
  // The provider is in its `run`: it expects no other call than `allocate`.
  RETURN_IF_ERROR(make_room(s, dtype, dims, stream, WhenFull::kFail));
  *out_tensor = slots_[s].tensor;
  return ok_status();
}

Status Frame::set_strings(uint64_t step, uint32_t output, ValueRef value) {
  const PlanStep& planned = plan_->steps[step];
  if (output >= planned.outputs.size()) return invalid_input("the step has no output ", output);
  hold(planned.outputs[output], std::move(value));
  return ok_status();
}

Status Frame::set_object(uint64_t step, uint32_t output, ValueRef value) {
  const PlanStep& planned = plan_->steps[step];
  if (output >= planned.outputs.size()) return invalid_input("the step has no output ", output);
  const SlotIndex s = planned.outputs[output];
  if (plan_->slots[s].kind != SlotKind::kDynamic)
    return invalid_input("output ", output, " is a tensor of fixed shape");
  hold(s, std::move(value));
  return ok_status();
}

Result<ValueRef> Frame::value_from_input(uint64_t step, uint32_t input) {
  const PlanStep& planned = plan_->steps[step];
  if (input >= planned.inputs.size()) return invalid_input("the step has no input ", input);
  const FrameSlot& slot = slots_[planned.inputs[input]];
  if (slot.tensor.kind != TENON_KIND_TENSOR) return ValueRef::share(slot.tensor.object);
  if (slot.is_whole_value()) return slot.value;
  return copy_tensor(seen_in(*planned.part->input_domains[input], planned.inputs[input]));
}

}  // namespace tenon::runtime
