// Runs a check in its own process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ep-sdk/cts/process.h"

namespace tenon::cts {

struct Result {
  std::string id, title;
  // "passed", "failed", "not applicable", "not testable", "not reached", "declared"; of a case also "declined"
  std::string status;
  std::string cause, cure;
  std::string crash;  // how the process ended, when it did not answer
  std::string step;   // the last step that the process reported
  double seconds = 0;
  std::vector<std::string> operators;  // of a case
};

/// A child process of this executable: its answers line by line, and its output.
class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments);

  /// Writes a line to its standard input; false when the process has ended.
  bool send(const std::string& line);
  /// Its next answer. Also remembers the activities and steps that it reports. Empty when it has ended or time is up.
  std::optional<std::string> receive(double limit_seconds);
  /// Waits for its end. When time is up, kills it and returns false.
  bool finish(double limit_seconds);

  const std::string& last_activity() const { return activity_; }
  const std::string& last_step() const { return step_; }
  bool ended_well() const;
  /// How the process ended.
  std::string obituary() const;
  /// The last line that it printed.
  std::string last_words() const;

 private:
  Process process_;
  bool at_end_ = false;
  std::string buffer_, activity_ = "the first call", step_;
};

/// Runs this executable with `arguments` and reads its answer. A crash or time-out is a failed result.
Result run_child(const std::vector<std::string>& arguments, double limit_seconds);

/// In the child: sends a line to the parent.
void say(const std::string& line);
/// In the child: sends a result as a line.
void answer(const Result& result);
Result read_answer(const std::string& line);

/// In the child: tells the parent what it does now, for messages about a crash or time-out.
void report_activity(const std::string& what);
/// In the child: tells the parent which step begins.
void report_step(const std::string& name);

}  // namespace tenon::cts
