#include "host/exec/islands.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace tenon::runtime {
namespace {

bool records(const Plan& plan, const PlanStep& step) {
  return (step.kind == StepKind::kRun || step.kind == StepKind::kCopy) && step.stream != plan::kNone &&
         plan.streams[step.stream]->has_recordings();
}

/// True for memory whose address changes from Run to Run.
bool is_outside(const Slot& slot) { return slot.kind == SlotKind::kInput || slot.kind == SlotKind::kOutput; }
/// True for host memory of the caller. What stays on a device is outside, too, but is not staged: a copy of it would
/// cost more than it saves.
bool is_callers(const Slot& slot) { return is_outside(slot) && !slot.stays; }

bool is_numeric(const Slot& slot) {
  return slot.value_kind == TENON_KIND_TENSOR && slot.dtype != TENON_STRING && slot.dtype != TENON_UNDEFINED;
}

class Staging {
 public:
  explicit Staging(Plan* plan)
      : plan_(*plan), moves_(plan->slots.size()), read_on_stream_(plan->slots.size()) {}

  void run() {
    find_moving();
    std::vector<PlanStep> old = std::exchange(plan_.steps, {});
    for (size_t i = 0; i < old.size();) {
      const size_t end = end_of_group(old, i);
      if (end == i) {
        const StepKind kind = old[i].kind;
        const uint32_t stream = old[i].stream, point = old[i].point;
        plan_.steps.push_back(std::move(old[i++]));
        if (kind == StepKind::kSignal) signal(stream, point);
        if (kind == StepKind::kWait) copy_out(stream, point);
        continue;
      }
      std::vector<PlanStep> group;
      for (; i < end; ++i) stage(std::move(old[i]), &group);
      std::move(group.begin(), group.end(), std::back_inserter(plan_.steps));
    }
  }

 private:
  /// An output that the host copies for the caller when `point` is done; kNone before the signal.
  struct Leaving {
    SlotIndex from, to;
    uint32_t point = plan::kNone;
  };

  /// The end of the sequence of steps on one recording stream that begins at `first`; `first` when there is none.
  size_t end_of_group(const std::vector<PlanStep>& steps, size_t first) const {
    size_t end = first;
    while (end < steps.size() && records(plan_, steps[end]) && steps[end].stream == steps[first].stream)
      ++end;
    return end;
  }

  /// Marks the slots that move: the caller's, and those that the memory plan may make views of them.
  void find_moving() {
    for (SlotIndex s = 0; s < moves_.size(); ++s) moves_[s] = is_callers(plan_.slots[s]);
    for (const PlanStep& step : plan_.steps) {
      if (records(plan_, step)) {
        for (SlotIndex s : step.inputs) {
          if (s != kNoSlot) read_on_stream_[s] = true;
        }
        continue;  // reads staged slots only
      }
      if (step.kind != StepKind::kRun) continue;
      const std::vector<PreparedOutput>& outputs = step.prepared->outputs();
      for (size_t o = 0; o < outputs.size(); ++o) {
        if (step.outputs[o] == kNoSlot || outputs[o].alias.kind != TENON_ALIAS_VIEW) continue;
        const SlotIndex from = step.inputs[outputs[o].alias.input];
        if (from != kNoSlot && moves_[from]) moves_[step.outputs[o]] = true;
      }
    }
  }

  void stage(PlanStep step, std::vector<PlanStep>* group) {
    if (step.kind == StepKind::kCopy && host_copies(&step)) return;
    for (SlotIndex& s : step.inputs) {
      if (s == kNoSlot || !moves_[s] || !is_numeric(plan_.slots[s])) continue;
      if (const auto at = written_.find(s); at != written_.end()) {
        s = at->second;
      } else {
        s = staged_input(s, place_for(step, s));
      }
    }
    for (SlotIndex& s : step.outputs) {
      if (s == kNoSlot || !is_callers(plan_.slots[s])) continue;
      const SlotIndex staged = make_slot(s, place_for(step, s));
      written_[s] = staged;
      leaving_[step.stream].push_back({staged, s});
      s = staged;
    }
    group->push_back(std::move(step));
  }

  /// A copy between memory of the caller and memory of a device that the host can access: the host does it, before the
  /// group or after the wait. False when the device must do it.
  bool host_copies(PlanStep* step) {
    const SlotIndex from = step->inputs[0], to = step->outputs[0];
    const auto accessible = [&](SlotIndex s) { return plan_.slots[s].domain->host_can_access(); };
    if (!accessible(from) || !accessible(to)) return false;
    if (moves_[from] && written_.count(from) == 0 && !is_callers(plan_.slots[to])) {
      step->stream = plan::kNone;
      plan_.steps.push_back(std::move(*step));
      return true;
    }
    if (is_callers(plan_.slots[to]) && !moves_[from] && !read_on_stream_[to]) {
      leaving_[step->stream].push_back({from, to});
      return true;
    }
    return false;
  }

  const MemoryDomain* place_for(const PlanStep& step, SlotIndex s) const {
    const MemoryDomain* staging = plan_.streams[step.stream]->device().staging();
    const bool fits = staging != nullptr &&
                      (staging->max_buffer_bytes == 0 || plan_.slots[s].bytes <= staging->max_buffer_bytes);
    return step.kind == StepKind::kCopy && fits ? staging : &host_domain();
  }

  SlotIndex make_slot(SlotIndex s, const MemoryDomain* domain) {
    Slot slot = plan_.slots[s];
    slot.kind = SlotKind::kPlanned;
    slot.domain = domain;
    slot.root = static_cast<SlotIndex>(plan_.slots.size());
    plan_.slots.push_back(std::move(slot));
    moves_.push_back(false);
    read_on_stream_.push_back(true);
    return plan_.slots.back().root;
  }

  /// A slot in `domain` with what `s` holds, which the host copies before the group.
  SlotIndex staged_input(SlotIndex s, const MemoryDomain* domain) {
    const auto [at, is_new] = read_.try_emplace({s, domain}, kNoSlot);
    if (is_new) {
      at->second = make_slot(s, domain);
      host_copy(s, at->second);
    }
    return at->second;
  }

  void signal(uint32_t stream, uint32_t point) {
    for (Leaving& each : leaving_[stream]) each.point = std::min(each.point, point);
  }

  /// The host has waited for the point: it copies what was made before it.
  void copy_out(uint32_t stream, uint32_t point) {
    std::vector<Leaving>& leaving = leaving_[stream];
    const auto end =
        std::find_if(leaving.begin(), leaving.end(), [&](const Leaving& each) { return each.point > point; });
    for (auto at = leaving.begin(); at != end; ++at) host_copy(at->from, at->to);
    leaving.erase(leaving.begin(), end);
  }

  void host_copy(SlotIndex from, SlotIndex to) {
    PlanStep step;
    step.kind = StepKind::kCopy;
    step.inputs = {from};
    step.outputs = {to};
    plan_.steps.push_back(std::move(step));
  }

  Plan& plan_;
  std::vector<bool> moves_, read_on_stream_;                             // per slot
  std::map<std::pair<SlotIndex, const MemoryDomain*>, SlotIndex> read_;  // staged for the readers of a slot
  std::map<SlotIndex, SlotIndex> written_;                               // staged by the writer of an output
  std::map<uint32_t, std::vector<Leaving>> leaving_;                     // per stream, in the order of points
};

/// True when a descriptor of the step changes with memory outside of the plan.
bool is_patched(const Plan& plan, const PlanStep& step) {
  const auto moves = [&](SlotIndex s) { return s != kNoSlot && is_outside(plan.slots[plan.slots[s].root]); };
  return std::any_of(step.inputs.begin(), step.inputs.end(), moves) ||
         std::any_of(step.outputs.begin(), step.outputs.end(), moves);
}

}  // namespace

void stage_islands(Plan* plan) {
  const bool any = std::any_of(plan->streams.begin(), plan->streams.end(),
                               [](const auto& instance) { return instance->has_recordings(); });
  if (any && !plan->has_dynamic_slots()) Staging(plan).run();
}

std::vector<Island> find_islands(const Plan& plan) {
  std::vector<Island> out;
  if (!plan.is_static) return out;
  bool open = false;
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    const bool recorded = records(plan, step) && !is_patched(plan, step);
    if (recorded && !(open && out.back().stream == step.stream)) out.push_back({i, 0, step.stream});
    if (recorded) ++out.back().count;
    open = recorded;
  }
  return out;
}

std::string label_of_step(const ir::Graph& graph, const Plan& plan, const PlanStep& step) {
  if (step.part != nullptr) return step.part->label;
  const Slot& to = plan.slots[step.outputs[0]];
  return str_cat("copy of '", graph.value(to.value).name, "' to ", to.domain->name);
}

bool UnrecordedSteps::add(std::string label) {
  const std::lock_guard lock(mutex_);
  return labels_.insert(std::move(label)).second;
}

std::string UnrecordedSteps::find(const ir::Graph& graph, const Plan& plan, const Island& island) const {
  const std::lock_guard lock(mutex_);
  for (uint32_t i = 0; !labels_.empty() && i < island.count; ++i) {
    std::string label = label_of_step(graph, plan, plan.steps[island.first_step + i]);
    if (labels_.count(label) != 0) return label;
  }
  return {};
}

}  // namespace tenon::runtime
