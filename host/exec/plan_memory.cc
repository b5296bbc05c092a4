#include "host/exec/plan_memory.h"

#include <algorithm>

#include "host/exec/labels.h"
#include "host/exec/schedule.h"

namespace tenon::runtime {
namespace {

class Layout {
 public:
  Layout(const Executable& executable, Plan* plan)
      : executable_(executable), finished_at_(finished_at(*plan)), plan_(plan) {}

  Status run() {
    ASSIGN_OR_RETURN(const plan::MemoryPlan memory, plan::plan_memory(make_request()));
    apply(memory);
    RETURN_IF_ERROR(check_limits());
    number_tensors();
    collect_patches();
    collect_releases();
    plan_->is_static = !plan_->has_dynamic_slots();
    return ok_status();
  }

 private:
  plan::DomainIndex domain_index(const MemoryDomain* domain, uint64_t alignment = 1) {
    auto index = static_cast<size_t>(std::find(domains_.begin(), domains_.end(), domain) - domains_.begin());
    if (index == domains_.size()) {
      domains_.push_back(domain);
      alignments_.push_back(domain->alignment);
    }
    alignments_[index] = std::max(alignments_[index], alignment);
    return static_cast<plan::DomainIndex>(index);
  }

  plan::Request make_request() {
    plan::Request request;
    for (const Slot& slot : plan_->slots) {
      plan::Value value;
      value.home = slot.kind == SlotKind::kPlanned ? plan::Home::kSlab : plan::Home::kOutside;
      value.domain = domain_index(slot.domain);
      value.bytes = slot.bytes;
      value.name = executable_.graph().value(slot.value).name;
      request.values.push_back(value);
    }
    for (SlotIndex s : plan_->outputs) request.values[s].kept = true;
    for (size_t s = 0; s < plan_->steps.size(); ++s) {
      request.steps.push_back(make_step(plan_->steps[s]));
      request.steps.back().finished_at = finished_at_[s];
    }
    for (size_t d = 0; d < domains_.size(); ++d)
      request.domains.push_back({alignments_[d], domains_[d]->max_buffer_bytes});
    return request;
  }

  plan::StepMemory make_step(const PlanStep& from) {
    plan::StepMemory step;
    step.inputs = from.inputs;
    step.outputs = from.outputs;
    step.stream = from.stream == plan::kNone ? 0 : from.stream + 1;
    if (from.kind != StepKind::kRun) return step;
    for (const PreparedOutput& output : from.prepared->outputs()) {
      step.aliases.push_back(
          {static_cast<plan::AliasKind>(output.alias.kind), output.alias.input, output.alias.byte_offset});
    }
    if (from.prepared->workspace_bytes() != 0) {
      step.workspace = {from.prepared->workspace_bytes(), domain_index(from.prepared->workspace_domain(),
                                                                       from.prepared->workspace_alignment())};
    }
    return step;
  }

  void apply(const plan::MemoryPlan& memory) {
    for (SlotIndex s = 0; s < plan_->slots.size(); ++s) {
      Slot& slot = plan_->slots[s];
      const plan::Root root = memory.roots[s];
      slot.root = root.value;
      slot.slab = memory.places[s].slab;
      const bool outside = plan_->slots[root.value].kind != SlotKind::kPlanned;
      slot.offset = outside ? root.byte_offset : memory.places[s].offset;
    }
    for (size_t s = 0; s < plan_->steps.size(); ++s) {
      PlanStep& step = plan_->steps[s];
      step.workspace = memory.workspaces[s];
      if (step.prepared != nullptr && step.kind == StepKind::kRun)
        step.workspace_bytes = step.prepared->workspace_bytes();
    }
    for (const plan::Slab& slab : memory.slabs) plan_->slabs.push_back({domains_[slab.domain], slab.bytes});
  }

  Status check_limits() const {
    uint64_t host = 0, device = 0;
    for (const PlanSlab& slab : plan_->slabs)
      (slab.domain->is_host() || slab.domain->staging ? host : device) += slab.bytes;
    for (const Slot& slot : plan_->slots) device += slot.upload != nullptr ? slot.bytes : 0;
    const SharedState& shared = executable_.shared();
    if (shared.memory != nullptr) {
      Status status = shared.memory->check_size(host);
      if (!status.ok())
        return std::move(status).with_context(label_of_largest(executable_.graph(), *plan_, true));
    }
    if (shared.device_limit != 0 && device > shared.device_limit) {
      return limit_exceeded("the plan needs ", device, " bytes of device memory, but memory.device_limit is ",
                            shared.device_limit, "; raise it, or use smaller shapes")
          .with_context(label_of_largest(executable_.graph(), *plan_, false));
    }
    return ok_status();
  }

  void number_tensors() {
    for (PlanStep& step : plan_->steps) {
      step.first_tensor = plan_->tensor_count;
      plan_->tensor_count += static_cast<uint32_t>(step.inputs.size() + step.outputs.size() + 1);
    }
  }

  bool is_patched(SlotIndex s) const {
    const SlotKind kind = plan_->slots[s].kind;
    return kind == SlotKind::kInput || kind == SlotKind::kOutput;
  }

  void collect_patches() {
    plan_->patches.resize(plan_->slots.size());
    plan_->slot_patches.resize(plan_->slots.size());
    for (SlotIndex s = 0; s < plan_->slots.size(); ++s) {
      const Slot& slot = plan_->slots[s];
      if (slot.root != s && is_patched(slot.root)) plan_->slot_patches[slot.root].push_back({s, slot.offset});
    }
    for (uint32_t i = 0; i < plan_->steps.size(); ++i) {
      const PlanStep& step = plan_->steps[i];
      if (step.kind != StepKind::kRun) continue;  // all others read the slots when they run
      uint32_t tensor = step.first_tensor;
      for (size_t n = 0; n < step.inputs.size(); ++n)
        add_patch(step.inputs[n], tensor++, i, *step.part->input_domains[n]);
      for (size_t n = 0; n < step.outputs.size(); ++n)
        add_patch(step.outputs[n], tensor++, i, *step.part->output_domains[n]);
    }
  }

  /// `declared`: the domain in which the step's provider sees the slot.
  void add_patch(SlotIndex s, uint32_t tensor, uint32_t step, const MemoryDomain& declared) {
    if (s == kNoSlot) return;
    const Slot& slot = plan_->slots[s];
    if (!is_patched(slot.root)) return;
    const bool as_host = declared.is_host() && !slot.domain->is_host();
    plan_->patches[slot.root].push_back({tensor, step, slot.root == s ? 0 : slot.offset, as_host});
  }

  void collect_releases() {
    std::vector<uint32_t> last(plan_->slots.size(), plan::kNone);
    for (uint32_t i = 0; i < plan_->steps.size(); ++i) {
      const uint32_t done = finished_at_[i] == plan::kNone ? i : finished_at_[i];
      const auto touch = [&](SlotIndex s) {
        if (s != kNoSlot) last[s] = last[s] == plan::kNone ? done : std::max(last[s], done);
      };
      for (SlotIndex s : plan_->steps[i].inputs) touch(s);
      for (SlotIndex s : plan_->steps[i].outputs) touch(s);
    }
    for (SlotIndex s : plan_->outputs) last[s] = plan::kNone;
    for (SlotIndex s : plan_->inputs) last[s] = plan::kNone;
    for (SlotIndex s = 0; s < plan_->slots.size(); ++s) {
      if (plan_->slots[s].kind == SlotKind::kDynamic && last[s] != plan::kNone) {
        plan_->steps[last[s]].releases.push_back(s);
      }
    }
  }

  const Executable& executable_;
  std::vector<uint32_t> finished_at_;
  Plan* plan_;
  std::vector<const MemoryDomain*> domains_;
  std::vector<uint64_t> alignments_;  // per domain
};

}  // namespace

Status lay_out(const Executable& executable, Plan* plan) { return Layout(executable, plan).run(); }

uint64_t Plan::slab_bytes() const {
  uint64_t bytes = 0;
  for (const PlanSlab& slab : slabs) bytes += slab.bytes;
  return bytes;
}

bool Plan::has_dynamic_slots() const {
  return std::any_of(slots.begin(), slots.end(),
                     [](const Slot& slot) { return slot.kind == SlotKind::kDynamic; });
}

}  // namespace tenon::runtime
