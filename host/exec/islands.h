// Islands: steps on a stream that are recorded once and played back in each Run. See plan.h for the stages of planning.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "host/exec/plan.h"

namespace tenon::runtime {

/// Gives steps on streams that record fixed addresses. What such a step reads from memory that may move between Runs
/// (the caller's, or a view of it) and what it writes for the caller passes through slots of the plan, in the STAGING
/// domain of the device for copies and in host memory for claims. The host copies to them before the first step that
/// needs them and from them after the wait for the step that fills them. Handles and strings stay where they are.
///
/// To be called when the schedule is complete. Does nothing for a plan with dynamic values.
void stage_islands(Plan* plan);

/// The islands of a plan whose memory is placed and whose descriptors are numbered.
std::vector<Island> find_islands(const Plan& plan);

/// How messages name a step of an island: the part's label, or the value that is copied.
std::string label_of_step(const ir::Graph& graph, const Plan& plan, const PlanStep& step);

/// The steps of one executable that a provider refused to record. An island with such a step is enqueued step by step
/// in every Run. Thread-safe.
class UnrecordedSteps {
 public:
  /// False when it was known.
  bool add(std::string label);
  /// The first refused step of an island; empty when there is none.
  std::string find(const ir::Graph& graph, const Plan& plan, const Island& island) const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> labels_;
};

}  // namespace tenon::runtime
