// Runs the steps of a frame.
#include <algorithm>

#include "host/exec/frame.h"
#include "host/exec/step_event.h"
#include "host/exec/steps.h"

namespace tenon::runtime {
namespace {

constexpr int32_t kUnknownFailure = TENON_INTERNAL;
/// How long a wait takes until it looks whether the Run was cancelled.
constexpr int64_t kSliceNs = 5'000'000;
/// Errors of one stream that a failed Run takes note of.
constexpr int kMostErrors = 1000;

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

inline tenon_status Frame::run_plain(std::span<const BoundStep> steps) {
  ScratchArena& scratch = state_->scratch;
  for (const BoundStep& step : steps) {
    const tenon_status code = step.run(step.args, &error_);
    scratch.reset();
    if (code != TENON_OK) [[unlikely]] {
      if (failed_step_ == plan::kNone) failed_step_ = step.args->index;
      return code;
    }
  }
  return TENON_OK;
}

Status Frame::run(RunState& state) {
  adopt(state);
  const bool traced = state.control.trace != nullptr;
  if (traced != measured_) [[unlikely]]
    RETURN_IF_ERROR(measure(traced));
  const tenon_status code = run_all(walked_);
  if (code == TENON_OK) [[likely]] {
    if (traced) add_times();
    return ok_status();
  }
  Status status = describe_failure(code);
  drain();
  if (traced && !unfinished_) add_times();
  if (!unfinished_) clear();
  return status;
}

tenon_status Frame::run_all(std::span<const BoundStep> steps) {
  return state_->control.is_watched() ? run_watched(steps) : run_plain(steps);
}

tenon_status Frame::run_watched(std::span<const BoundStep> steps) {
  const RunControl& control = state_->control;
  for (const BoundStep& step : steps) {
    const uint32_t index = step.args->index, island = step.args->island;
    tenon_status code = TENON_OK;
    if (Status check = control.check(); !check.ok()) {
      code = fail(std::move(check));
    } else {
      if (control.trace != nullptr) trace_spans_of(plan_->steps[index]);
      const int64_t begin = control.trace != nullptr ? now_ns() : 0;
      code = step.run(step.args, &error_);
      state_->scratch.reset();
      const bool in_pieces = island != plan::kNone && !is_played(island);  // its steps have their own events
      if (control.trace != nullptr && !in_pieces) {
        Trace::Event event = event_of_step(executable_, *plan_, plan_->steps[index]);
        if (island != plan::kNone) {
          event.name = str_cat("island of ", plan_->islands[island].count, " steps");
          event.category = "enqueue";
          event.bytes = 0;
        }
        event.begin_ns = begin;
        event.duration_ns = now_ns() - begin;
        control.trace->add(std::move(event));
      }
    }
    if (code != TENON_OK) {
      if (failed_step_ == plan::kNone) failed_step_ = index;
      return code;
    }
  }
  return TENON_OK;
}

tenon_status Frame::fail(Status status) {
  failure_ = std::move(status);
  return static_cast<tenon_status>(failure_.code());
}

Status Frame::describe_failure(tenon_status code) {
  const PlanStep& step = plan_->steps[std::exchange(failed_step_, plan::kNone)];
  Status status = std::exchange(failure_, ok_status());
  if (status.ok() && step.prepared != nullptr) {
    const Program& program = step.prepared->program();
    // A late error names the work that failed; this step is not to blame.
    status = Device::is_late(error_) ? program.instance().status(code, error_) : program.status(code, error_);
  } else if (status.ok()) {
    status = Status(static_cast<StatusCode>(code == TENON_OK ? kUnknownFailure : code),
                    "a step failed, and no reason was given", ErrorKind::kInternal);
  }
  error_ = make_error();
  return status;
}

tenon_status Frame::finish_retired() {
  for (uint32_t s = 0; s < streams_.size(); ++s) {
    if (std::none_of(retired_.begin(), retired_.end(), [s](const Retired& used) { return used.stream == s; }))
      continue;
    const Result<uint64_t> point = streams_[s].point();
    if (!point.ok()) return fail(point.error());
    Status status = streams_[s].flush();
    if (status.ok()) status = wait_for(s, *point);
    if (!status.ok()) return fail(std::move(status));
  }
  retired_.clear();
  retired_bytes_ = 0;
  return TENON_OK;
}

void Frame::drain() {
  // Queued work may still use memory of this frame and of the caller. Only the first failure is reported.
  for (uint32_t s = 0; s < streams_.size(); ++s) {
    const Result<uint64_t> point = streams_[s].point();
    if (point.ok() && streams_[s].flush().ok()) pending_[s] = *point;
  }
  RunControl& control = state_->control;
  if (!finish_work(control.drain_end())) control.left_work = true;
  unfinished_ = control.left_work;  // work of a nested graph may use this frame's memory
}

bool Frame::finish_work(int64_t end_ns) {
  bool ended = true;
  for (uint32_t s = 0; s < streams_.size(); ++s) {
    if (pending_[s] == 0) continue;
    const int64_t left = end_ns == INT64_MAX ? -1 : std::max<int64_t>(end_ns - now_ns(), 0);
    // Each wait reports one error; the next Run must not meet those of this one.
    Status status = streams_[s].wait(pending_[s], left);
    for (int i = 0; i < kMostErrors && !status.ok() && status.kind() != ErrorKind::kDeviceLost &&
                    status.code() != StatusCode::kDeadlineExceeded;
         ++i) {
      status = streams_[s].wait(pending_[s], 0);
    }
    if (status.code() == StatusCode::kDeadlineExceeded) {
      ended = false;
    } else {
      pending_[s] = 0;
    }
  }
  return ended;
}

std::shared_ptr<Instance> Frame::busy_instance() const {
  for (uint32_t s = 0; s < pending_.size(); ++s) {
    if (pending_[s] != 0) return plan_->streams[s];
  }
  return nullptr;
}

Status Frame::wait_for(uint32_t stream, uint64_t point) {
  const RunControl& control = state_->control;
  if (!control.stop.is_set()) return streams_[stream].wait(point);
  for (;;) {
    RETURN_IF_ERROR(control.check());
    const int64_t begin = now_ns();
    int64_t slice = kSliceNs;
    if (control.stop.deadline_ns != 0)
      slice = std::clamp<int64_t>(control.stop.deadline_ns - begin, 1, slice);
    Status status = streams_[stream].wait(point, slice);
    // Work may fail with this code, too. Such a failure comes before the time is over, or is reported once.
    const bool over = status.code() == StatusCode::kDeadlineExceeded && now_ns() - begin >= slice / 2;
    if (!over) return status;
  }
}

}  // namespace tenon::runtime
