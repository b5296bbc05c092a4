// Reports of `tenon test`: JSON, JUnit, and the lines on the terminal.
#pragma once

#include <string>
#include <vector>

#include "tools/tenon/test_case.h"

namespace tenon::cli {

struct Summary {
  int passed = 0, failed = 0, declared = 0, crashed = 0;
};
Summary summarize(const std::vector<CaseResult>& results);

/// {"summary": {...}, "cases": [...]}, cases in order.
std::string json_report(const std::vector<CaseResult>& results);
/// A line for each case that did not pass, or with `all` for every one, and the counts.
std::string text_report(const std::vector<CaseResult>& results, bool all);
std::string junit_report(const std::vector<CaseResult>& results);

}  // namespace tenon::cli
