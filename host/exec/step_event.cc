#include "host/exec/step_event.h"

namespace tenon::runtime {

Trace::Event event_of_step(const Executable& executable, const Plan& plan, const PlanStep& step) {
  Trace::Event event;
  switch (step.kind) {
    case StepKind::kRun:
    case StepKind::kDynamic:
      event.category = step.stream == plan::kNone ? "run" : "enqueue";
      break;
    case StepKind::kControlFlow:
      event.category = "control flow";
      break;
    case StepKind::kCopy:
      event.category = "copy";
      break;
    case StepKind::kSignal:
      event.category = "submit";
      break;
    case StepKind::kWait:
      event.category = "wait";
      break;
    case StepKind::kStreamWait:
      event.category = "stream wait";
      break;
  }
  if (step.part != nullptr) {
    event.name = step.part->label;
    if (step.part->instance != nullptr) event.provider = step.part->instance->id();
  } else if (step.kind == StepKind::kCopy) {
    const Slot& to = plan.slots[step.outputs[0]];
    event.name = executable.graph().value(to.value).name + " to " + to.domain->name;
    event.bytes = to.bytes;
  } else {
    event.name = event.category;
  }
  if (step.stream != plan::kNone) event.provider = plan.streams[step.stream]->id();
  return event;
}

}  // namespace tenon::runtime
