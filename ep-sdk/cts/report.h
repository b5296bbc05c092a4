// Reports of results as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "ep-sdk/cts/child.h"
#include "ep-sdk/cts/target.h"

namespace tenon::cts {

struct Summary {
  int passed = 0, failed = 0, not_applicable = 0, not_reached = 0, declared = 0;
};

/// One line: "R17 passed", "R23 FAILED: cause. Cure: ...".
std::string line_of(const Result& result);
Summary summarize(const std::vector<Result>& results);

/// `cases`: one result per ONNX case.
std::string json_report(const Target& target, const std::vector<Result>& results,
                        const std::vector<Result>& cases);
std::string junit_report(const Target& target, const std::vector<Result>& results);

}  // namespace tenon::cts
