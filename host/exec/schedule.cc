#include "host/exec/schedule.h"

#include <algorithm>

#include "host/device/transfer.h"
#include "host/exec/labels.h"

namespace tenon::runtime {
namespace {

const ir::Type& innermost(const ir::Type& type) {
  const ir::Type* at = &type;
  while (!at->is_tensor() && at->inner != nullptr) at = at->inner.get();
  return *at;
}

void describe(const ir::Type& type, Slot* slot) {
  slot->value_kind =
      type.kind == ir::ValueKind::kUnknown ? uint32_t{TENON_KIND_TENSOR} : static_cast<uint32_t>(type.kind);
  slot->dtype = static_cast<uint32_t>(innermost(type).element);
  if (!type.is_tensor() || !type.shape.is_static()) return;
  slot->dims = type.shape.to_ints();
  int64_t bytes = 0;
  if (ir::packed_bytes(type.element, type.shape.element_count(), &bytes))
    slot->bytes = static_cast<uint64_t>(bytes);
}

/// True when the size in bytes is known before a Run: not for strings, handles and unknown types.
bool has_fixed_size(const ir::Type& type) {
  int64_t bytes = 0;
  return type.is_tensor() && type.element != ir::ElementType::kString &&
         type.element != ir::ElementType::kUndefined && type.shape.is_static() &&
         ir::packed_bytes(type.element, type.shape.element_count(), &bytes);
}

Status cannot_leave_host(const ir::Graph& graph, ir::ValueId value) {
  return internal_error("value '", graph.value(value).name,
                        "' is not a numeric tensor and cannot leave host memory");
}

bool is_work(const PlanStep& step) {
  return step.kind != StepKind::kSignal && step.kind != StepKind::kWait && step.kind != StepKind::kStreamWait;
}

Place any_place(const MemoryDomain* domain) { return {domain, nullptr, nullptr, 0}; }

}  // namespace

Schedule::Schedule(const Executable& executable, const Knowledge& knowledge, Plan* plan)
    : executable_(executable), knowledge_(knowledge), plan_(plan) {}

SlotIndex Schedule::make_slot(ir::ValueId value, const MemoryDomain* domain, bool fixed) {
  const ir::Type& type = knowledge_.type(value);
  Slot slot;
  slot.value = value;
  slot.domain = domain;
  if (fixed && has_fixed_size(type)) {
    const bool is_output = executable_.graph().value(value).output_count > 0;
    const StatePair* pair = is_output ? pair_of_output(value) : nullptr;
    const bool is_kept = pair == nullptr && kept_.count(value) != 0;
    const bool is_first = slots_of_.count(value) == 0;  // the others are copies of it
    const bool leaves = is_output && (pair != nullptr ? domain == pair->domain
                                      : is_kept       ? is_first
                                                      : domain->is_host());
    slot.kind = leaves ? SlotKind::kOutput : SlotKind::kPlanned;
    slot.stays = leaves && (pair != nullptr || !domain->is_host());
    plan_->any_stays = plan_->any_stays || slot.stays;
  }
  describe(type, &slot);
  if (slot.kind == SlotKind::kDynamic) {
    slot.dims.clear();
    slot.bytes = 0;
  }
  slot.root = static_cast<SlotIndex>(plan_->slots.size());
  slots_of_[value].push_back(slot.root);
  plan_->slots.push_back(std::move(slot));
  writers_.push_back({});
  return plan_->slots.back().root;
}

const StatePair* Schedule::pair_of_output(ir::ValueId value) const {
  for (const StatePair& pair : executable_.state_pairs) {
    if (executable_.outputs()[pair.output] == value) return &pair;
  }
  return nullptr;
}

SlotIndex Schedule::make_input(ir::ValueId value, const MemoryDomain* domain, bool stays) {
  const SlotIndex index = make_slot(value, domain, false);
  Slot& slot = plan_->slots[index];
  const ir::Type& type = knowledge_.type(value);
  describe(type, &slot);
  slot.stays = stays;
  plan_->any_stays = plan_->any_stays || stays;
  if (knowledge_.shape_known(value)) slot.kind = SlotKind::kInput;
  return index;
}

const MemoryDomain* Schedule::domain_of(ir::ValueId value) const {
  const auto known = slots_of_.find(value);
  if (known == slots_of_.end()) return &host_domain();
  const Slot& made = plan_->slots[known->second.front()];
  const bool is_numeric = made.value_kind == TENON_KIND_TENSOR && made.dtype != TENON_STRING;
  return is_numeric && made.kind != SlotKind::kConstant ? made.domain : &host_domain();
}

Result<SlotIndex> Schedule::constant_slot(ir::ValueId value, ir::TensorPtr tensor,
                                          const MemoryDomain* domain) {
  Slot slot;
  slot.kind = SlotKind::kConstant;
  slot.value = value;
  slot.domain = domain;
  if (domain->is_host()) {
    ASSIGN_OR_RETURN(slot.constant, executable_.shared().constants->get(tensor));
  } else {
    if (tensor->type() == ir::ElementType::kString) return cannot_leave_host(executable_.graph(), value);
    Result<UploadPtr> upload = executable_.uploads().get(tensor, *domain, *executable_.shared().constants);
    if (!upload.ok())
      return std::move(upload).error().with_context(label_of_value(executable_.graph(), value));
    slot.upload = std::move(*upload);
  }
  slot.dtype = static_cast<uint32_t>(tensor->type());
  slot.dims = tensor->dims();
  slot.bytes = tensor->byte_size();
  slot.known = std::move(tensor);
  slot.root = static_cast<SlotIndex>(plan_->slots.size());
  slots_of_[value].push_back(slot.root);
  plan_->slots.push_back(std::move(slot));
  writers_.push_back({});
  return plan_->slots.back().root;
}

Result<SlotIndex> Schedule::find_slot(ir::ValueId value, const MemoryDomain* domain,
                                      const std::shared_ptr<Instance>& reader) {
  const auto known = slots_of_.find(value);
  if (known == slots_of_.end()) {
    ir::TensorPtr tensor = knowledge_.value(value);
    if (tensor == nullptr) {
      return internal_error("value '", executable_.graph().value(value).name, "' is read before it is made");
    }
    return constant_slot(value, std::move(tensor), domain);
  }
  for (SlotIndex s : known->second) {
    if (plan_->slots[s].domain == domain) return s;
  }
  const SlotIndex from = nearest(known->second, *domain);
  if (plan_->slots[from].kind == SlotKind::kConstant)
    return constant_slot(value, plan_->slots[from].known, domain);
  return copy_slot(from, domain, reader);
}

Result<SlotIndex> Schedule::find_input(ir::ValueId value, const MemoryDomain* domain,
                                       const std::shared_ptr<Instance>& reader) {
  const auto known = slots_of_.find(value);
  if (domain->is_host() && !reader->has_streams() && known != slots_of_.end()) {
    SlotIndex found = kNoSlot;
    for (SlotIndex s : known->second) {
      if (plan_->slots[s].domain->is_host()) return s;
      if (found == kNoSlot && plan_->slots[s].domain->host_can_access()) found = s;
    }
    if (found != kNoSlot) return found;
  }
  return find_slot(value, domain, reader);
}

/// A copy on the device is nearest, then one within the provider, then one from host memory.
SlotIndex Schedule::nearest(const std::vector<SlotIndex>& slots, const MemoryDomain& domain) const {
  const auto distance = [&](SlotIndex s) {
    const MemoryDomain& from = *plan_->slots[s].domain;
    if (from.device == domain.device) return 0;
    if (domain.is_host()) return from.host_can_access() ? 1 : 2;
    const bool is_near =
        are_peers(domain, from) && !executable_.refused_peers().contains(*domain.device, *from.device);
    return is_near ? 1 : from.is_host() ? 2 : 3;
  };
  return *std::min_element(slots.begin(), slots.end(),
                           [&](SlotIndex a, SlotIndex b) { return distance(a) < distance(b); });
}

Result<SlotIndex> Schedule::copy_slot(SlotIndex from, const MemoryDomain* domain,
                                      const std::shared_ptr<Instance>& reader) {
  const Slot source = plan_->slots[from];
  if (source.value_kind != TENON_KIND_TENSOR || source.dtype == TENON_STRING)
    return cannot_leave_host(executable_.graph(), source.value);
  const SlotIndex to = make_slot(source.value, domain, source.kind != SlotKind::kDynamic);
  PlanStep step;
  step.kind = StepKind::kCopy;
  step.inputs = {from};
  step.outputs = {to};
  // The copy goes on the stream of the step that made the value, else on the stream of its reader. Between two devices
  // of a provider it goes on the stream of the reader.
  const bool by_reader = reader != nullptr && reader->has_streams() && domain->device == &reader->device();
  if (copies_directly(any_place(domain), any_place(source.domain))) {
    const uint32_t maker = writers_[from].stream;
    if (maker != plan::kNone && &plan_->streams[maker]->device() == source.domain->device) {
      step.stream = maker;
    } else if (by_reader) {
      step.stream = stream_of(reader);
    }
  } else if (by_reader && are_peers(*domain, *source.domain) &&
             !executable_.refused_peers().contains(*domain->device, *source.domain->device)) {
    step.stream = stream_of(reader);
  }
  add(std::move(step));
  return to;
}

uint32_t Schedule::stream_of(const std::shared_ptr<Instance>& instance) {
  const auto at = std::find(plan_->streams.begin(), plan_->streams.end(), instance);
  if (at != plan_->streams.end()) return static_cast<uint32_t>(at - plan_->streams.begin());
  plan_->streams.push_back(instance);
  streams_.push_back({});
  return static_cast<uint32_t>(plan_->streams.size() - 1);
}

void Schedule::add(PlanStep step) {
  if (step.part != nullptr && step.part->is_asynchronous()) step.stream = stream_of(step.part->instance);
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] == kNoSlot) continue;
    const bool host_reads =
        step.part != nullptr && !step.part->is_control_flow() && step.part->shape_inputs[i];
    wait_for(step.inputs[i], host_reads ? plan::kNone : step.stream);
  }
  if (running_ != plan::kNone && running_ != step.stream) signal(running_);
  running_ = step.stream;
  push(std::move(step));
}

void Schedule::push(PlanStep step) {
  const auto index = static_cast<uint32_t>(plan_->steps.size());
  if (is_work(step)) {
    for (SlotIndex s : step.outputs) {
      if (s != kNoSlot) writers_[s] = {step.stream, index};
    }
    if (step.stream != plan::kNone) {
      streams_[step.stream].last_step = index;
      streams_[step.stream].unsignalled = true;
    }
  }
  plan_->steps.push_back(std::move(step));
}

void Schedule::wait_for(SlotIndex slot, uint32_t reader_stream) {
  const Writer writer = writers_[slot];
  if (writer.stream == plan::kNone || writer.stream == reader_stream) return;
  const StreamState& state = streams_[writer.stream];
  if (writer.step < state.finished_before) return;
  const auto provider = [&](uint32_t stream) { return plan_->streams[stream]->device().provider(); };
  const bool on_device = reader_stream != plan::kNone && provider(reader_stream) == provider(writer.stream);
  if (on_device) {
    const std::vector<uint32_t>& ordered = streams_[reader_stream].ordered;
    if (writer.stream < ordered.size() && writer.step < ordered[writer.stream]) return;
  }
  if (state.unsignalled && writer.step >= state.signalled_before) signal(writer.stream);
  if (on_device) {
    wait_on_device(reader_stream, writer.stream);
  } else {
    wait(writer.stream);
  }
}

void Schedule::signal(uint32_t stream) {
  if (!streams_[stream].unsignalled) return;
  StreamState& state = streams_[stream];
  state.unsignalled = false;
  state.point = static_cast<uint32_t>(plan_->points.size());
  plan_->points.push_back(stream);
  state.signalled_before = static_cast<uint32_t>(plan_->steps.size());
  PlanStep step;
  step.kind = StepKind::kSignal;
  step.stream = stream;
  step.point = state.point;
  push(std::move(step));
}

void Schedule::wait(uint32_t stream) {
  StreamState& state = streams_[stream];
  state.finished_before = state.signalled_before;
  PlanStep step;
  step.kind = StepKind::kWait;
  step.stream = stream;
  step.point = state.point;
  push(std::move(step));
}

void Schedule::wait_on_device(uint32_t stream, uint32_t other) {
  StreamState& state = streams_[stream];
  state.ordered.resize(streams_.size(), 0);
  state.ordered[other] = streams_[other].signalled_before;
  PlanStep step;
  step.kind = StepKind::kStreamWait;
  step.stream = stream;
  step.point = streams_[other].point;
  push(std::move(step));
}

void Schedule::finish() {
  for (uint32_t s = 0; s < streams_.size(); ++s) signal(s);
  for (uint32_t s = 0; s < streams_.size(); ++s) {
    if (streams_[s].finished_before < streams_[s].signalled_before) wait(s);
  }
}

std::vector<uint32_t> finished_at(const Plan& plan) {
  const auto count = static_cast<uint32_t>(plan.steps.size());
  std::vector<uint32_t> at(count, plan::kNone);
  std::vector<uint32_t> signal_of(plan.points.size(), plan::kNone);
  for (uint32_t s = 0; s < count; ++s) {
    const PlanStep& step = plan.steps[s];
    if (step.kind == StepKind::kSignal) signal_of[step.point] = s;
    if (step.kind != StepKind::kWait) continue;
    for (uint32_t before = signal_of[step.point]; before-- > 0;) {  // the steps before the point
      const PlanStep& work = plan.steps[before];
      if (work.stream != step.stream || !is_work(work)) continue;
      if (at[before] != plan::kNone) break;
      at[before] = s;
    }
  }
  return at;
}

}  // namespace tenon::runtime
