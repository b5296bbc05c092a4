// When work ran on devices, in traced Runs.
#include <algorithm>
#include <atomic>

#include "host/base/log.h"
#include "host/exec/frame.h"
#include "host/exec/step_event.h"

namespace tenon::runtime {
namespace {

std::atomic<uint64_t> g_timed_streams{0};  // made by this process

/// `step`: null for work of several steps.
Trace::Event event_of_work(const Executable& executable, const Plan& plan, const PlanStep* step,
                           WorkTime work) {
  Trace::Event event;
  if (step != nullptr) {
    event = event_of_step(executable, plan, *step);
    event.step = event.name;
  }
  // The provider does not know which value it copies.
  if (step == nullptr || step->kind != StepKind::kCopy) event.name = std::move(work.name);
  event.category = "device";
  event.begin_ns = work.begin_ns;
  event.duration_ns = work.end_ns - work.begin_ns;
  return event;
}

}  // namespace

Status Frame::measure(bool on) {
  const bool any = std::any_of(plan_->streams.begin(), plan_->streams.end(),
                               [](const auto& instance) { return instance->has_times(); });
  if (any && other_.streams.empty()) {
    std::vector<Stream> made;
    std::vector<std::string> tracks;
    for (const std::shared_ptr<Instance>& instance : plan_->streams) {
      ASSIGN_OR_RETURN(Stream stream, instance->make_stream(true));
      made.push_back(std::move(stream));
      tracks.push_back(str_cat("device stream ", ++g_timed_streams));
    }
    other_.streams = std::move(made);
    other_.tracks = std::move(tracks);
    other_.recordings.resize(islands_.size());
  }
  measured_ = on;
  if (!any) return ok_status();
  streams_.swap(other_.streams);
  for (size_t i = 0; i < islands_.size(); ++i) std::swap(islands_[i].recording, other_.recordings[i]);
  for (uint32_t i = 0; i < args_.size(); ++i) {
    if (args_[i].stream != nullptr) args_[i].stream = streams_[plan_->steps[i].stream].handle();
  }
  return ok_status();
}

void Frame::add_times() {
  for (uint32_t s = 0; s < streams_.size(); ++s) {
    if (!plan_->streams[s]->has_times()) continue;
    Result<std::vector<WorkTime>> times = streams_[s].times();
    if (!times.ok()) {
      log_line(TENON_LOG_WARNING, "TRACE",
               str_cat("'", plan_->streams[s]->id(),
                       "' gives no times of a traced Run: ", times.error().to_string()));
      continue;
    }
    for (WorkTime& work : *times) {
      const bool known = work.work_id >= 1 && work.work_id <= plan_->steps.size();
      const PlanStep* step = known ? &plan_->steps[work.work_id - 1] : nullptr;
      Trace::Event event = event_of_work(executable_, *plan_, step, std::move(work));
      event.provider = plan_->streams[s]->id();
      event.track = other_.tracks[s];
      state_->control.trace->add(std::move(event));
    }
  }
}

void Frame::trace_spans_of(const PlanStep& step) {
  state_->run.trace = state_->control.trace;
  const Instance* instance = step.part != nullptr ? step.part->instance.get() : nullptr;
  // The first step of an island may be a copy, and its provider speaks while it records or plays the island.
  if (instance == nullptr && step.stream != plan::kNone) instance = plan_->streams[step.stream].get();
  state_->run.traced_as = instance != nullptr ? std::string_view(instance->id()) : std::string_view();
}

}  // namespace tenon::runtime
