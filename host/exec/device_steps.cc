// Steps of providers that bind or that run one at a time; copies between memory domains; signals and waits of streams.
#include "host/exec/steps.h"

namespace tenon::runtime {
namespace {

const StepArgs& own(const tenon_run_args* args) { return *static_cast<const StepArgs*>(args); }

Status bind(Frame& frame, uint32_t index, const tenon_run_args* args) {
  const PlanStep& step = frame.step(index);
  frame.binding(index).reset();
  ASSIGN_OR_RETURN(frame.binding(index), Binding::make(step.prepared, {args->inputs, args->input_count},
                                                       {args->outputs, args->output_count}, args->workspace));
  frame.args(index).binding = frame.binding(index).handle();
  frame.stale(index) = 0;
  return ok_status();
}

}  // namespace

tenon_status run_bound(const tenon_run_args* args, tenon_error* error) {
  Frame& frame = *own(args).frame;
  const uint32_t index = own(args).index;
  const Program& program = frame.step(index).prepared->program();
  if (program.instance().has_bind() && frame.stale(index) != 0) {
    if (Status status = bind(frame, index, args); !status.ok()) return frame.fail(std::move(status));
  }
  std::mutex* mutex = program.run_mutex();
  if (mutex == nullptr) return program.api().run(args, error);
  const std::lock_guard lock(*mutex);
  return program.api().run(args, error);
}

tenon_status run_copy(const tenon_run_args* args, tenon_error*) {
  Frame& frame = *own(args).frame;
  const PlanStep& step = frame.step(own(args).index);
  const Slot &from = frame.plan().slots[step.inputs[0]], &to = frame.plan().slots[step.outputs[0]];
  tenon_stream* stream = step.stream == plan::kNone ? nullptr : frame.stream(step.stream).handle();
  const tenon_tensor source = frame.slot(step.inputs[0]).tensor;
  Status status = ok_status();
  if (to.kind == SlotKind::kDynamic) {
    status = frame.make_room(step.outputs[0], source.dtype, {source.dims, source.rank}, stream);
  }
  if (status.ok()) {
    const tenon_tensor& target = frame.slot(step.outputs[0]).tensor;
    status = copy(place_of(to.domain, target), place_of(from.domain, source), source.byte_size, stream);
  }
  if (!status.ok()) {
    const std::string& name = frame.executable().graph().value(to.value).name;
    return frame.fail(std::move(status).with_context(str_cat("copy of '", name, "' to ", to.domain->name)));
  }
  frame.release(step.releases);
  return TENON_OK;
}

tenon_status run_signal(const tenon_run_args* args, tenon_error*) {
  Frame& frame = *own(args).frame;
  const PlanStep& step = frame.step(own(args).index);
  Status status = frame.event(step.event).record(frame.stream(step.stream));
  if (status.ok()) status = frame.stream(step.stream).flush();
  return status.ok() ? TENON_OK : frame.fail(std::move(status));
}

tenon_status run_wait(const tenon_run_args* args, tenon_error*) {
  Frame& frame = *own(args).frame;
  const PlanStep& step = frame.step(own(args).index);
  Status status = frame.event(step.event).wait();
  if (!status.ok()) return frame.fail(std::move(status));
  frame.release(step.releases);
  return TENON_OK;
}

}  // namespace tenon::runtime
