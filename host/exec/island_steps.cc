// Islands in a frame: recording, playing back, and enqueuing step by step what a provider does not record.
#include "host/base/log.h"
#include "host/exec/steps.h"

namespace tenon::runtime {
namespace {

/// Holds the locks of the programs that the recording runs.
class Locks {
 public:
  explicit Locks(const std::vector<std::mutex*>& mutexes) : mutexes_(mutexes) {
    for (std::mutex* mutex : mutexes_) mutex->lock();
  }
  ~Locks() {
    for (std::mutex* mutex : mutexes_) mutex->unlock();
  }
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

 private:
  const std::vector<std::mutex*>& mutexes_;
};

tenon_status play(Frame& frame, uint32_t index) {
  const Island& island = frame.plan().islands[index];
  FrameIsland& own = frame.island(index);
  const Locks locks(own.locks);
  Status status = own.recording.run(frame.stream(island.stream));
  if (status.ok()) return TENON_OK;
  const std::string first =
      label_of_step(frame.executable().graph(), frame.plan(), frame.step(island.first_step));
  return frame.fail(
      std::move(status).with_context(str_cat("the recording of ", island.count, " steps from ", first)));
}

}  // namespace

Status Frame::bind(uint32_t index) {
  const PlanStep& step = plan_->steps[index];
  if (!step.prepared->program().instance().has_bind() || stale_[index] == 0) return ok_status();
  StepArgs& args = args_[index];
  bindings_[index].reset();
  ASSIGN_OR_RETURN(bindings_[index], Binding::make(step.prepared, {args.inputs, args.input_count},
                                                   {args.outputs, args.output_count}, args.workspace));
  args.binding = bindings_[index].handle();
  stale_[index] = 0;
  return ok_status();
}

tenon_status Frame::run_steps_of(uint32_t index) {
  const Island& island = plan_->islands[index];
  return run_all(std::span(steps_).subspan(island.first_step, island.count));
}

tenon_status Frame::record(uint32_t index, std::string* refused) {
  const Island& island = plan_->islands[index];
  const auto label = [&](uint32_t step) {
    return label_of_step(executable_.graph(), *plan_, plan_->steps[step]);
  };
  for (uint32_t i = 0; i < island.count; ++i) {  // bind may take long, and is not recorded
    const uint32_t step = island.first_step + i;
    if (plan_->steps[step].kind != StepKind::kRun) continue;
    if (Status status = bind(step); !status.ok()) {
      failed_step_ = step;
      return fail(std::move(status));
    }
  }
  Stream& stream = streams_[island.stream];
  if (Status status = stream.record_begin(); !status.ok()) return fail(std::move(status));
  recording_ = true;
  for (uint32_t i = 0; i < island.count; ++i) {
    const uint32_t step = island.first_step + i;
    Status stopped = state_->control.check();
    const tenon_status code =
        stopped.ok() ? steps_[step].run(steps_[step].args, &error_) : fail(std::move(stopped));
    state_->scratch.reset();
    if (code == TENON_OK) continue;
    recording_ = false;
    const Status dropped = stream.record_drop();
    if (code == TENON_UNIMPLEMENTED && dropped.ok()) *refused = label(step);
    failed_step_ = step;
    return code;
  }
  recording_ = false;
  Result<Recording> recording = stream.record_end();
  if (!recording.ok()) {
    if (recording.error().code() == StatusCode::kUnimplemented) *refused = label(island.first_step);
    return fail(std::move(recording).error());
  }
  islands_[index].recording = std::move(*recording);
  return TENON_OK;
}

void Frame::enqueue_directly(uint32_t index, std::string refused) {
  FrameIsland& island = islands_[index];
  island.direct = true;
  failure_ = ok_status();
  failed_step_ = plan::kNone;
  error_ = make_error();
  const std::string text =
      str_cat("'", plan_->streams[plan_->islands[index].stream]->id(), "' cannot record ", refused, "; the ",
              plan_->islands[index].count, " steps around it are enqueued one by one in every Run");
  if (executable_.unrecorded().add(std::move(refused))) log_line(TENON_LOG_INFO, "RECORDING", text);
}

tenon_status run_island(const tenon_run_args* args, tenon_error*) {
  const auto& own = *static_cast<const StepArgs*>(args);
  Frame& frame = *own.frame;
  FrameIsland& island = frame.island(own.island);
  if (frame.is_played(own.island)) [[likely]]
    return play(frame, own.island);
  if (frame.is_seen_in_pieces(own.island)) return frame.run_steps_of(own.island);
  if (!island.direct) {
    const Executable& executable = frame.executable();
    island.direct = !executable.unrecorded()
                         .find(executable.graph(), frame.plan(), frame.plan().islands[own.island])
                         .empty();
  }
  if (!island.direct) {
    std::string refused;
    const tenon_status code = frame.record(own.island, &refused);
    if (code == TENON_OK) return play(frame, own.island);
    if (refused.empty()) return code;
    frame.enqueue_directly(own.island, std::move(refused));
  }
  return frame.run_steps_of(own.island);
}

}  // namespace tenon::runtime
