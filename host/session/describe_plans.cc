#include "host/exec/frame_pool.h"
#include "host/session/describe.h"

namespace tenon::session {
namespace {

using runtime::Executable;
using runtime::Plan;
using runtime::PlanStep;
using runtime::Slot;
using runtime::StepKind;

std::string_view kind_name(StepKind kind) {
  switch (kind) {
    case StepKind::kRun:
      return "run";
    case StepKind::kDynamic:
      return "dynamic";
    case StepKind::kControlFlow:
      return "control flow";
    case StepKind::kCopy:
      return "copy";
    case StepKind::kSignal:
      return "signal";
    case StepKind::kWait:
      return "wait";
    case StepKind::kStreamWait:
      return "stream wait";
  }
  return "";
}

Json describe(const Executable& executable, const Plan& plan, const PlanStep& step) {
  Json out;
  out["kind"] = kind_name(step.kind);
  if (step.part != nullptr) {
    out["node"] = step.part->label;
    out["provider"] = step.part->instance == nullptr ? "host" : step.part->instance->id();
  }
  if (step.stream != plan::kNone) out["stream"] = plan.streams[step.stream]->id();
  if (step.kind == StepKind::kStreamWait) out["waits_for"] = plan.streams[plan.points[step.point]]->id();
  if (step.kind == StepKind::kCopy) {
    const Slot &from = plan.slots[step.inputs[0]], &to = plan.slots[step.outputs[0]];
    out["value"] = executable.graph().value(to.value).name;
    out["from"] = from.domain->name;
    out["to"] = to.domain->name;
    out["bytes"] = to.bytes;
  }
  if (step.workspace_bytes != 0) out["workspace_bytes"] = step.workspace_bytes;
  Json in_place = Json::array(), views = Json::array();
  if (step.kind == StepKind::kRun) {
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      const Slot& slot = plan.slots[step.outputs[o]];
      if (slot.root == step.outputs[o]) continue;
      const bool view = step.prepared->outputs()[o].alias.kind == TENON_ALIAS_VIEW;
      (view ? views : in_place).push_back(executable.graph().value(slot.value).name);
    }
  }
  if (!in_place.empty()) out["in_place"] = std::move(in_place);
  if (!views.empty()) out["views"] = std::move(views);
  return out;
}

Json describe(const Executable& executable, const Plan& plan, const runtime::Island& island) {
  Json out = {{"first_step", island.first_step},
              {"steps", island.count},
              {"stream", plan.streams[island.stream]->id()}};
  const std::string refused = executable.unrecorded().find(executable.graph(), plan, island);
  out["recorded"] = refused.empty();
  if (!refused.empty()) out["reason"] = "the provider cannot record " + refused;
  return out;
}

std::string signature_text(const Executable& executable, const Plan& plan) {
  std::string text;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const Slot& slot = plan.slots[plan.inputs[i]];
    text += (text.empty() ? "" : " ") + executable.graph().value(executable.inputs()[i]).name;
    if (slot.value_kind == TENON_KIND_TENSOR) text += ir::Shape::of(slot.dims).to_string();
  }
  return text;
}

Json describe(const Executable& executable, const Plan& plan) {
  Json out;
  out["graph"] = executable.name;
  out["signature"] = signature_text(executable, plan);
  out["static"] = plan.is_static;
  out["steps"] = Json::array();
  for (const PlanStep& step : plan.steps) out["steps"].push_back(describe(executable, plan, step));
  out["islands"] = Json::array();
  for (const runtime::Island& island : plan.islands)
    out["islands"].push_back(describe(executable, plan, island));
  out["uploads"] = Json::array();
  for (const Slot& slot : plan.slots) {
    if (slot.upload == nullptr) continue;
    out["uploads"].push_back({{"value", executable.graph().value(slot.value).name},
                              {"domain", slot.domain->name},
                              {"bytes", slot.bytes}});
  }
  out["slabs"] = Json::array();
  for (const runtime::PlanSlab& slab : plan.slabs) {
    out["slabs"].push_back({{"domain", slab.domain->name}, {"bytes", slab.bytes}});
  }
  return out;
}

void add(const Executable& executable, Json* list) {
  executable.frames().for_each_plan([&](const Plan& plan) { list->push_back(describe(executable, plan)); });
  for (const runtime::CompiledPart& part : executable.parts) {
    for (const runtime::Body& body : part.bodies) add(*body.executable, list);
  }
}

}  // namespace

Json describe_plans(const Session& session) {
  Json list = Json::array();
  const std::shared_ptr<const Assembly> assembly = session.assembly();
  add(*assembly->executable, &list);
  Json out;
  out["plans"] = std::move(list);
  return out;
}

}  // namespace tenon::session
