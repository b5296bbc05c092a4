#include "host/exec/frame.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "host/exec/labels.h"
#include "host/exec/steps.h"

namespace tenon::runtime {
namespace {

void* shift(void* data, uint64_t bytes) {
  return data == nullptr ? nullptr : static_cast<std::byte*>(data) + bytes;
}

/// The fields of a descriptor that the plan knows.
tenon_tensor describe(const Slot& slot) {
  tenon_tensor tensor{};
  tensor.kind = slot.value_kind;
  tensor.dtype = slot.dtype;
  tensor.domain = slot.domain->local_id;
  tensor.rank = static_cast<uint32_t>(slot.dims.size());
  tensor.dims = slot.dims.data();
  tensor.byte_size = slot.bytes;
  return tensor;
}

tenon_tensor missing() {
  tenon_tensor tensor{};
  tensor.kind = TENON_KIND_NONE;
  return tensor;
}

/// Makes memory of a device that the host reads in place look like host memory.
void show_as_host(tenon_tensor* tensor) {
  tensor->domain = TENON_DOMAIN_HOST;
  tensor->buffer = nullptr;
  tensor->byte_offset = 0;
}

bool same_place(const tenon_tensor& a, const tenon_tensor& b) {
  return a.data == b.data && a.buffer == b.buffer && a.byte_offset == b.byte_offset && a.domain == b.domain &&
         a.offsets == b.offsets && a.object == b.object && a.kind == b.kind && a.byte_size == b.byte_size;
}

void move_to(tenon_tensor* tensor, const tenon_tensor& from, uint64_t byte_offset) {
  if (from.kind != TENON_KIND_TENSOR) {  // a handle or an absent value: neither has views
    *tensor = from;
    return;
  }
  tensor->data = shift(from.data, byte_offset);
  tensor->domain = from.domain;
  tensor->buffer = from.buffer;
  tensor->byte_offset = from.buffer == nullptr ? from.byte_offset : from.byte_offset + byte_offset;
  tensor->offsets = from.offsets;
  tensor->object = from.object;
  if (from.dtype == TENON_STRING) tensor->byte_size = from.byte_size;
}

}  // namespace

bool FrameSlot::is_whole_value() const {
  if (!value) return false;
  const tenon_tensor& whole = value->tensor;
  return whole.kind == tensor.kind && whole.dtype == tensor.dtype && whole.data == tensor.data &&
         std::equal(whole.dims, whole.dims + whole.rank, tensor.dims, tensor.dims + tensor.rank);
}

Frame::Frame(const Executable& executable, std::shared_ptr<const Plan> plan)
    : executable_(executable), plan_(std::move(plan)), error_(make_error()) {}

Frame::~Frame() = default;

Result<std::unique_ptr<Frame>> Frame::make(const Executable& executable, std::shared_ptr<const Plan> plan) {
  std::unique_ptr<Frame> frame(new Frame(executable, std::move(plan)));
  RETURN_IF_ERROR(frame->allocate());
  frame->fill_slots();
  frame->fill_steps();
  return frame;
}

std::string Frame::largest_value_in(uint32_t slab) const {
  const Slot* largest = nullptr;
  for (const Slot& slot : plan_->slots) {
    if (slot.slab == slab && slot.value != ir::kNone && (largest == nullptr || slot.bytes > largest->bytes))
      largest = &slot;
  }
  if (largest == nullptr) return "the plan's memory";
  return str_cat("memory for ", label_of_value(executable_.graph(), largest->value), " with ", largest->bytes,
                 " bytes");
}

Status Frame::allocate() {
  for (const PlanSlab& slab : plan_->slabs) {
    Result<Buffer> buffer = Buffer::allocate(*slab.domain, slab.bytes);
    if (!buffer.ok()) {
      return std::move(buffer).error().with_context(largest_value_in(static_cast<uint32_t>(slabs_.size())));
    }
    slabs_.push_back(std::move(*buffer));
  }
  for (const std::shared_ptr<Instance>& instance : plan_->streams) {
    ASSIGN_OR_RETURN(Stream stream, instance->make_stream());
    streams_.push_back(std::move(stream));
  }
  points_.resize(plan_->points.size());
  pending_.resize(plan_->streams.size());
  return ok_status();
}

void Frame::fill_slots() {
  slots_.resize(plan_->slots.size());
  for (SlotIndex s = 0; s < slots_.size(); ++s) {
    const Slot& slot = plan_->slots[s];
    tenon_tensor& tensor = slots_[s].tensor;
    tensor = describe(slot);
    const Slot& root = plan_->slots[slot.root];
    if (slot.kind == SlotKind::kConstant && slot.constant != nullptr) tensor = slot.constant->descriptor();
    if (slot.slab != plan::kNone) {
      slabs_[slot.slab].place(&tensor, slot.offset);
    } else if (root.upload != nullptr) {
      if (root.upload->buffer) root.upload->buffer.place(&tensor, slot.offset);
    } else if (slot.root != s && root.constant != nullptr) {
      tensor.data = shift(root.constant->descriptor().data, slot.offset);
    }
  }
}

void Frame::fill_steps() {
  tensors_.assign(plan_->tensor_count, missing());
  args_.resize(plan_->steps.size());
  steps_.resize(plan_->steps.size());
  bindings_.resize(plan_->steps.size());
  stale_.assign(plan_->steps.size(), 1);
  for (uint32_t i = 0; i < plan_->steps.size(); ++i) {
    const PlanStep& step = plan_->steps[i];
    StepArgs& args = args_[i];
    args.struct_size = sizeof(tenon_run_args);
    args.frame = this;
    args.index = i;
    args.work_id = work_id_of(step);
    steps_[i].args = &args;
    switch (step.kind) {
      case StepKind::kRun:
        fill_provider_step(i);
        break;
      case StepKind::kDynamic:
        fill_provider_step(i);
        steps_[i].run = run_dynamic;
        break;
      case StepKind::kControlFlow:
        steps_[i].run = step.part->run_control_flow;
        break;
      case StepKind::kCopy:
        steps_[i].run = run_copy;
        break;
      case StepKind::kSignal:
        steps_[i].run = run_signal;
        break;
      case StepKind::kWait:
        steps_[i].run = run_wait;
        break;
      case StepKind::kStreamWait:
        steps_[i].run = run_stream_wait;
        break;
    }
  }
  fill_islands();
}

void Frame::fill_islands() {
  islands_.resize(plan_->islands.size());
  island_args_.resize(plan_->islands.size());
  uint32_t next = 0;  // the first step that is not in walked_ yet
  const auto walk_until = [&](uint32_t end) {
    walked_.insert(walked_.end(), steps_.begin() + next, steps_.begin() + end);
    next = end;
  };
  for (uint32_t i = 0; i < islands_.size(); ++i) {
    const Island& island = plan_->islands[i];
    StepArgs& args = island_args_[i];
    args.frame = this;
    args.index = island.first_step;
    args.island = i;
    walk_until(island.first_step);
    walked_.push_back({run_island, &args});
    next += island.count;
    std::vector<std::mutex*>& locks = islands_[i].locks;
    for (uint32_t s = island.first_step; s < next; ++s) {
      const PlanStep& step = plan_->steps[s];
      std::mutex* mutex = step.prepared == nullptr ? nullptr : step.prepared->program().run_mutex();
      if (mutex != nullptr) locks.push_back(mutex);
    }
    std::sort(locks.begin(), locks.end(), std::less<>());
    locks.erase(std::unique(locks.begin(), locks.end()), locks.end());
  }
  walk_until(static_cast<uint32_t>(steps_.size()));
}

tenon_tensor Frame::seen_in(const MemoryDomain& domain, SlotIndex s) const {
  tenon_tensor tensor = slots_[s].tensor;
  if (!domain.is_host() || plan_->slots[s].domain->is_host()) return tensor;
  show_as_host(&tensor);
  return tensor;
}

void Frame::fill_provider_step(uint32_t index) {
  const PlanStep& step = plan_->steps[index];
  StepArgs& args = args_[index];
  const std::span<tenon_tensor> inputs = input_tensors(index), outputs = output_tensors(index);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (step.inputs[i] != kNoSlot) inputs[i] = seen_in(*step.part->input_domains[i], step.inputs[i]);
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (step.outputs[o] != kNoSlot) outputs[o] = seen_in(*step.part->output_domains[o], step.outputs[o]);
  }
  args.inputs = inputs.data();
  args.outputs = outputs.data();
  args.input_count = static_cast<uint32_t>(inputs.size());
  args.output_count = static_cast<uint32_t>(outputs.size());
  if (step.stream != plan::kNone) args.stream = streams_[step.stream].handle();
  if (step.prepared == nullptr) return;
  args.program = step.prepared->program().handle();
  args.prepared = step.prepared->handle();
  if (step.workspace.slab != plan::kNone) {
    tenon_tensor& workspace = workspace_tensor(index);
    workspace.kind = TENON_KIND_TENSOR;
    workspace.dtype = TENON_UINT8;
    workspace.byte_size = step.workspace_bytes;
    slabs_[step.workspace.slab].place(&workspace, step.workspace.offset);
    args.workspace = &workspace;
  }
  const bool direct = step.prepared->program().run_mutex() == nullptr && !step.part->instance->has_bind();
  steps_[index].run = direct ? step.part->instance->api().run : run_bound;
}

std::span<tenon_tensor> Frame::input_tensors(uint32_t step) {
  return {tensors_.data() + plan_->steps[step].first_tensor, plan_->steps[step].inputs.size()};
}

std::span<tenon_tensor> Frame::output_tensors(uint32_t step) {
  const PlanStep& planned = plan_->steps[step];
  return {tensors_.data() + planned.first_tensor + planned.inputs.size(), planned.outputs.size()};
}

tenon_tensor& Frame::workspace_tensor(uint32_t step) {
  const PlanStep& planned = plan_->steps[step];
  return tensors_[planned.first_tensor + planned.inputs.size() + planned.outputs.size()];
}

void Frame::bind_input(uint32_t index, const tenon_tensor& tensor, ValueRef owner) {
  const SlotIndex s = plan_->inputs[index];
  FrameSlot& slot = slots_[s];
  slot.value = std::move(owner);
  if (plan_->slots[s].kind == SlotKind::kInput) return patch(s, tensor);
  slot.tensor = tensor;
  slot.dims.assign(tensor.dims, tensor.dims + tensor.rank);
  slot.tensor.dims = slot.dims.data();
}

void Frame::bind_output(uint32_t index, void* data) {
  tenon_tensor place = output(index);
  place.data = data;
  patch(plan_->outputs[index], place);
}

void Frame::bind_input(uint32_t index, const Buffer& memory) {
  const SlotIndex s = plan_->inputs[index];
  tenon_tensor place = slots_[s].tensor;
  memory.place(&place, 0);
  patch(s, place);
}

void Frame::bind_output(uint32_t index, const Buffer& memory) {
  tenon_tensor place = output(index);
  memory.place(&place, 0);
  patch(plan_->outputs[index], place);
}

void Frame::bind_output(uint32_t index, const tenon_value& value) {
  if (value.is_on_device()) return bind_output(index, *value.memory);
  bind_output(index, value.tensor.data);
}

void Frame::unbind_staying() {
  if (!plan_->any_stays) return;
  for (SlotIndex s = 0; s < slots_.size(); ++s) {
    if (!plan_->slots[s].stays) continue;
    // Another memory may have the same handle later: the next bind must not take it for this one.
    slots_[s].tensor.data = nullptr;
    slots_[s].tensor.buffer = nullptr;
    for (const Patch& patch : plan_->patches[s]) {
      bindings_[patch.step].reset();
      stale_[patch.step] = 1;
    }
  }
}

void Frame::patch(SlotIndex s, const tenon_tensor& from) {
  tenon_tensor& own = slots_[s].tensor;
  if (same_place(own, from)) return;
  move_to(&own, from, 0);
  for (const Patch& patch : plan_->patches[s]) {
    move_to(&tensors_[patch.tensor], from, patch.byte_offset);
    if (patch.as_host) show_as_host(&tensors_[patch.tensor]);
    stale_[patch.step] = 1;
  }
  for (const SlotPatch& patch : plan_->slot_patches[s])
    move_to(&slots_[patch.slot].tensor, from, patch.byte_offset);
}

Result<ValueRef> Frame::take_output(uint32_t index) const {
  const FrameSlot& slot = slots_[plan_->outputs[index]];
  const tenon_tensor& tensor = slot.tensor;
  if (tensor.kind == TENON_KIND_NONE) return make_composite(TENON_KIND_OPTIONAL, tensor.dtype, {});
  if (tensor.kind != TENON_KIND_TENSOR) return slot.value ? slot.value : ValueRef::share(tensor.object);
  if (slot.is_whole_value()) return slot.value;
  if (!slot.value || plan_->slots[plan_->outputs[index]].kind != SlotKind::kDynamic)
    return copy_tensor(tensor);
  // The output is a view, of another shape, of memory made during the Run: the new value keeps that memory alive.
  tenon_value* owner = ValueRef(slot.value).release();
  Result<ValueRef> view = wrap_tensor(
      tensor, [](void* held) { ValueRef::adopt(static_cast<tenon_value*>(held)); }, owner);
  if (!view.ok()) ValueRef::adopt(owner);
  return view;
}

void Frame::retire(Retired used) {
  retired_bytes_ += used.workspace.bytes();
  retired_.push_back(std::move(used));
}

void Frame::clear() {
  retired_.clear();
  retired_bytes_ = 0;
  kept_.clear();
  kept_memory_.clear();
  for (SlotIndex s : plan_->inputs) slots_[s].value.reset();
  if (plan_->is_static) return;
  for (SlotIndex s = 0; s < slots_.size(); ++s) {
    if (plan_->slots[s].kind != SlotKind::kDynamic) continue;
    slots_[s].value.reset();
    slots_[s].buffer.reset();
  }
}

void Frame::release(std::span<const SlotIndex> slots) {
  for (SlotIndex s : slots) {
    slots_[s].value.reset();
    slots_[s].buffer.reset();
  }
}

bool Frame::uses(const Device& device) const {
  return std::any_of(plan_->slabs.begin(), plan_->slabs.end(),
                     [&](const PlanSlab& slab) { return slab.domain->device == &device; }) ||
         std::any_of(plan_->streams.begin(), plan_->streams.end(),
                     [&](const auto& instance) { return &instance->device() == &device; });
}

}  // namespace tenon::runtime
