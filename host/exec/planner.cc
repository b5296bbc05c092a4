#include "host/exec/planner.h"

#include <algorithm>
#include <unordered_set>

#include "core/base/stop.h"
#include "core/ops/ops.h"
#include "host/exec/evaluate.h"
#include "host/exec/islands.h"
#include "host/exec/knowledge.h"
#include "host/exec/plan_memory.h"
#include "host/exec/prepare_part.h"
#include "host/exec/schedule.h"

namespace tenon::runtime {
namespace {

class Planner {
 public:
  Planner(const Executable& executable, std::span<const uint32_t> kept, Plan* plan)
      : executable_(executable),
        plan_(plan),
        knowledge_(executable.graph()),
        schedule_(executable, knowledge_, plan),
        kept_(kept.begin(), kept.end()) {
    for (const CompiledPart& part : executable.parts) {
      const bool in_place = !part.is_control_flow() && !part.is_asynchronous();  // see Schedule::find_input
      for (size_t i = 0; i < part.inputs.size(); ++i) {
        if (!part.input_domains[i]->is_host()) continue;
        read_on_host_.insert(part.inputs[i]);
        if (!in_place) copied_to_host_.insert(part.inputs[i]);
      }
    }
    std::unordered_set<ir::ValueId> kept_values;
    for (uint32_t o : kept) kept_values.insert(executable.outputs()[o]);
    schedule_.keep(std::move(kept_values));
    for (uint32_t o = 0; o < executable.outputs().size(); ++o) {
      if (executable.is_state_output(o) || kept_.count(o) != 0) continue;
      read_on_host_.insert(executable.outputs()[o]);
      copied_to_host_.insert(executable.outputs()[o]);
    }
  }

  Status run(std::span<const PlanInput> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ir::ValueId value = executable_.inputs()[i];
      knowledge_.set_type(value, inputs[i].type);
      const StatePair* pair = pair_of(static_cast<uint32_t>(i), &StatePair::input);
      const MemoryDomain* domain = pair != nullptr ? pair->domain : inputs[i].domain;
      const bool stays = domain != nullptr;
      if (pair == nullptr && stays) plan_->devices.push_back(domain->device->shared_from_this());
      plan_->inputs.push_back(schedule_.make_input(value, stays ? domain : &host_domain(), stays));
    }
    for (const CompiledPart& part : executable_.parts) {
      RETURN_IF_ERROR(check_stop("a plan was made").with_context(part.label));
      Status status = part.is_control_flow() ? add_control_flow(part) : add_part(part);
      RETURN_IF_ERROR(std::move(status));
    }
    for (uint32_t o = 0; o < executable_.outputs().size(); ++o) {
      const StatePair* pair = pair_of(o, &StatePair::output);
      const ir::ValueId value = executable_.outputs()[o];
      const MemoryDomain* domain = pair != nullptr       ? pair->domain
                                   : kept_.count(o) != 0 ? schedule_.domain_of(value)
                                                         : &host_domain();
      ASSIGN_OR_RETURN(const SlotIndex slot, schedule_.find_slot(value, domain, nullptr));
      plan_->outputs.push_back(slot);
    }
    schedule_.finish();
    stage_islands(plan_);
    RETURN_IF_ERROR(lay_out(executable_, plan_));
    plan_->updates_in_place = find_updates_in_place(executable_, *plan_);
    plan_->islands = find_islands(*plan_);
    return ok_status();
  }

 private:
  const StatePair* pair_of(uint32_t index, uint32_t StatePair::*side) const {
    for (const StatePair& pair : executable_.state_pairs) {
      if (pair.*side == index) return &pair;
    }
    return nullptr;
  }

  Status add_control_flow(const CompiledPart& part) {
    PlanStep step;
    step.kind = StepKind::kControlFlow;
    step.part = &part;
    for (ir::ValueId value : part.inputs) {
      SlotIndex slot = kNoSlot;
      if (value != ir::kNone) {
        ASSIGN_OR_RETURN(slot, schedule_.find_slot(value, &host_domain(), nullptr));
      }
      step.inputs.push_back(slot);
    }
    for (ir::ValueId value : part.outputs) {
      if (value != ir::kNone) forget_shape(value);
      step.outputs.push_back(value == ir::kNone ? kNoSlot
                                                : schedule_.make_slot(value, &host_domain(), false));
    }
    schedule_.add(std::move(step));
    return ok_status();
  }

  Status add_part(const CompiledPart& part) {
    RETURN_IF_ERROR(knowledge_.infer(part.nodes));
    ASSIGN_OR_RETURN(const bool evaluated, evaluate_part(executable_, part, &knowledge_));
    if (evaluated) return ok_status();

    PlanStep step;
    step.part = &part;
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      ASSIGN_OR_RETURN(const SlotIndex slot,
                       schedule_.find_input(part.inputs[i], part.input_domains[i], part.instance));
      step.inputs.push_back(slot);
    }
    if (can_prepare(part, knowledge_)) {
      RETURN_IF_ERROR(check_sizes(executable_.shared(), part, knowledge_));
      ASSIGN_OR_RETURN(step.prepared, prepare_part(executable_.shared(), part, knowledge_));
      RETURN_IF_ERROR(check_sizes(executable_.shared(), part, knowledge_, *step.prepared));
    }
    for (size_t o = 0; o < part.outputs.size(); ++o) {
      step.outputs.push_back(make_output(part, o, step.prepared.get()));
    }
    step.kind = is_fixed(step) ? StepKind::kRun : StepKind::kDynamic;
    if (step.kind == StepKind::kDynamic && step.prepared == nullptr)
      step.dynamic = std::make_unique<DynamicCache>();
    schedule_.add(std::move(step));
    return part.is_asynchronous() ? fetch_outputs(part) : ok_status();
  }

  /// Copies outputs for the host right behind the work that makes them, in the same submission.
  Status fetch_outputs(const CompiledPart& part) {
    for (size_t o = 0; o < part.outputs.size(); ++o) {
      const MemoryDomain& domain = *part.output_domains[o];
      const auto& wanted = domain.host_can_access() ? copied_to_host_ : read_on_host_;
      if (domain.is_host() || wanted.count(part.outputs[o]) == 0) continue;
      RETURN_IF_ERROR(schedule_.find_slot(part.outputs[o], &host_domain(), nullptr).status());
    }
    return ok_status();
  }

  SlotIndex make_output(const CompiledPart& part, size_t o, const Prepared* prepared) {
    const ir::ValueId value = part.outputs[o];
    const bool known = prepared != nullptr && !prepared->outputs()[o].at_run;
    if (known && knowledge_.type(value).is_tensor()) {
      ir::Type type = knowledge_.type(value);
      type.shape = ir::Shape::of(prepared->outputs()[o].dims);
      knowledge_.set_type(value, std::move(type));
    } else {
      forget_shape(value);
    }
    return schedule_.make_slot(value, part.output_domains[o], known);
  }

  /// Drops a shape that is not certain before the Run: a model's declaration may be left over from its export.
  void forget_shape(ir::ValueId value) {
    ir::Type type = knowledge_.type(value);
    if (!type.is_tensor()) return;
    for (ir::Dim& dim : type.shape.dims) dim = ir::Dim();
    if (type.shape.dims.empty()) type.shape = ir::Shape();  // rank 0 may be wrong, too
    knowledge_.set_type(value, std::move(type));
  }

  bool is_fixed(const PlanStep& step) const {
    const auto fixed = [&](SlotIndex s) {
      return s == kNoSlot || plan_->slots[s].kind != SlotKind::kDynamic;
    };
    return step.prepared != nullptr && std::all_of(step.inputs.begin(), step.inputs.end(), fixed) &&
           std::all_of(step.outputs.begin(), step.outputs.end(), fixed);
  }

  const Executable& executable_;
  Plan* plan_;
  Knowledge knowledge_;
  Schedule schedule_;
  const std::unordered_set<uint32_t> kept_;
  std::unordered_set<ir::ValueId> read_on_host_, copied_to_host_;
};

}  // namespace

Result<std::shared_ptr<const Plan>> make_plan(const Executable& executable, std::span<const PlanInput> inputs,
                                              std::span<const uint32_t> kept, plan::Signature signature) {
  auto plan = std::make_shared<Plan>();
  plan->signature = std::move(signature);
  RETURN_IF_ERROR(Planner(executable, kept, plan.get()).run(inputs));
  return std::shared_ptr<const Plan>(std::move(plan));
}

}  // namespace tenon::runtime
