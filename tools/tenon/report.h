// Reports of `tenon test`: JSON, JUnit, and text for the terminal.
#pragma once

#include <string>
#include <vector>

#include "tools/tenon/test_case.h"

namespace tenon::cli {

struct Summary {
  int passed = 0, failed = 0, declared = 0, crashed = 0;
};
Summary summarize(const std::vector<CaseResult>& results);

/// {"summary": {...}, "cases": [...]}, with the cases in order.
std::string json_report(const std::vector<CaseResult>& results);
/// One line for each case that did not pass (with `all`: for every case), then the counts.
std::string text_report(const std::vector<CaseResult>& results, bool all);
std::string junit_report(const std::vector<CaseResult>& results);

}  // namespace tenon::cli
