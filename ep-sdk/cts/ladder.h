// Tries the steps to a compiled program before the checks, so that one cause of many failures is told once.
#pragma once

#include <string>
#include <vector>

#include "ep-sdk/cts/child.h"
#include "ep-sdk/cts/step.h"
#include "ep-sdk/cts/target.h"

namespace tenon::cts {

/// The step that fails for this provider; kNone when none does.
struct Obstacle {
  Step step = Step::kNone;
  std::string cause, cure, crash;
  std::string told_by;  // the first check that came to the step; it is the one that fails
};

/// Names of workers that are not checks: all steps, and those that run no code of the provider.
inline const std::string kSteps = "steps", kFileSteps = "file-steps";

/// Runs this executable with `arguments` of one of these workers.
Obstacle find_obstacle(const std::vector<std::string>& arguments, double limit_seconds);

/// In the worker: takes the steps, answers, and ends the process without destroying what it made.
[[noreturn]] void serve_steps(const Target& target, bool file_only);

/// Turns "not reached" of a check into its verdict: failed with the cause for the first, the first one's id for others.
void judge_not_reached(Obstacle* obstacle, Result* result);

}  // namespace tenon::cts
