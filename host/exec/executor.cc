// Runs the steps of a frame.
#include "host/exec/frame.h"
#include "host/exec/steps.h"
#include "host/services/trace.h"

namespace tenon::runtime {
namespace {

constexpr int32_t kUnknownFailure = TENON_INTERNAL;

/// Describes a step for the trace: the part's label, or the value that is copied.
Trace::Event describe(const Executable& executable, const Plan& plan, const PlanStep& step) {
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

}  // namespace

void Frame::adopt(RunState& state) {
  if (state_ != &state) {
    state_ = &state;
    for (StepArgs& args : args_) args.run = &state.run;
  }
  if (cancel_ != state.control.stop.word) {
    cancel_ = state.control.stop.word;
    for (StepArgs& args : args_) args.cancel = cancel_;
  }
}

Status Frame::run(RunState& state) {
  adopt(state);
  tenon_status code = TENON_OK;
  const uint32_t at = state.control.is_watched() ? run_watched(&code) : run_plain(&code);
  if (code == TENON_OK) [[likely]]
    return ok_status();
  Status status = describe_failure(at, code);
  drain();
  clear();
  return status;
}

uint32_t Frame::run_plain(tenon_status* status) {
  ScratchArena& scratch = state_->scratch;
  const auto count = static_cast<uint32_t>(steps_.size());
  for (uint32_t i = 0; i < count; ++i) {
    const tenon_status code = steps_[i].run(steps_[i].args, &error_);
    scratch.reset();
    if (code != TENON_OK) [[unlikely]] {
      *status = code;
      return i;
    }
  }
  return count;
}

uint32_t Frame::run_watched(tenon_status* status) {
  const RunControl& control = state_->control;
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    if (Status check = control.check(); !check.ok()) {
      *status = fail(std::move(check));
      return i;
    }
    const int64_t begin = control.trace != nullptr ? now_ns() : 0;
    *status = steps_[i].run(steps_[i].args, &error_);
    state_->scratch.reset();
    if (control.trace != nullptr) {
      Trace::Event event = describe(executable_, *plan_, plan_->steps[i]);
      event.begin_ns = begin;
      event.duration_ns = now_ns() - begin;
      control.trace->add(std::move(event));
    }
    if (*status != TENON_OK) return i;
  }
  return 0;
}

tenon_status Frame::fail(Status status) {
  failure_ = std::move(status);
  return static_cast<tenon_status>(failure_.code());
}

Status Frame::describe_failure(uint32_t index, tenon_status code) {
  const PlanStep& step = plan_->steps[index];
  Status status = std::exchange(failure_, ok_status());
  if (status.ok() && step.prepared != nullptr) {
    status = step.prepared->program().status(code, error_);
  } else if (status.ok()) {
    status = Status(static_cast<StatusCode>(code == TENON_OK ? kUnknownFailure : code),
                    "a step failed, and no reason was given", ErrorKind::kInternal);
  }
  error_ = make_error();
  return status;
}

void Frame::drain() {
  // Queued work may still use memory of this frame and of the caller. Only the first failure is reported.
  for (uint32_t s = 0; s < streams_.size(); ++s) {
    Result<Event> event = plan_->streams[s]->make_event();
    if (!event.ok()) continue;
    Status status = event->record(streams_[s]);
    if (status.ok()) status = streams_[s].flush();
    if (status.ok()) status = event->wait();
  }
}

}  // namespace tenon::runtime
