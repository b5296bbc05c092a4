// A check in a process of its own.
#pragma once

#include <string>
#include <vector>

namespace tenon::cts {

struct Result {
  std::string id, title;
  std::string status;  // "passed", "failed", "not applicable", "not testable"; of a case also "declined"
  std::string cause, cure;
  std::string crash;  // how the process ended, when it did not answer
  double seconds = 0;
};

/// Runs this executable with `arguments` and reads its answer; a crash or a time-out is a failed result.
Result run_child(const std::vector<std::string>& arguments, double limit_seconds);

/// The child's side: what it says to its parent.
void answer(const Result& result);

/// What runs in this process is a child's check.
int serve_check(const std::string& id, const struct Target& target);

}  // namespace tenon::cts
