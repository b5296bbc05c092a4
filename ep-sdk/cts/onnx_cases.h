// Runs folders of ONNX test cases through libtenon with this provider only. A case that falls back fails.
#pragma once

#include <string>
#include <vector>

#include "ep-sdk/cts/child.h"
#include "ep-sdk/cts/target.h"

namespace tenon::cts {

/// Folders with a model.onnx below the --cases folders, sorted.
std::vector<std::string> find_cases(const Target& target);

/// Runs all cases in a worker process, which is replaced after a crash. `arguments`: of a worker.
std::vector<Result> run_cases(const std::vector<std::string>& folders,
                              const std::vector<std::string>& arguments, double limit_seconds);

/// One result per operator that the provider claims in any case, such as "op.Conv", with counts of its cases. A
/// declined case is counted but is not a failure.
std::vector<Result> by_operator(const std::vector<Result>& cases);

/// Begins an activity; the names of the case's operators follow, each with a comma after it.
inline const std::string kOperatorsActivity = "a case of ";

/// In a worker: reads one folder per line and answers one line for each.
int serve_cases(const Target& target);

}  // namespace tenon::cts
