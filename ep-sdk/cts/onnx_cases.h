// ONNX test-case folders, run by libtenon with this provider alone: what falls back fails.
#pragma once

#include <string>
#include <vector>

#include "ep-sdk/cts/child.h"
#include "ep-sdk/cts/target.h"

namespace tenon::cts {

/// Folders that hold a model.onnx, below those of --cases, sorted.
std::vector<std::string> find_cases(const Target& target);

/// Runs all of them in workers that are replaced after a crash. `arguments`: of a worker.
std::vector<Result> run_cases(const std::vector<std::string>& folders,
                              const std::vector<std::string>& arguments, double limit_seconds);

/// One result per operator that the provider claims in any case: "op.Conv", with the numbers of its cases. A case that is
/// declined is counted, and fails nothing.
std::vector<Result> by_operator(const std::vector<Result>& cases);

/// Before the names of a case's operators, each with a comma behind it.
inline const std::string kOperatorsStage = "a case of ";

/// The worker: a folder a line, an answer a line.
int serve_cases(const Target& target);

}  // namespace tenon::cts
