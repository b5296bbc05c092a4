// A check in a process of its own.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace tenon::cts {

struct Result {
  std::string id, title;
  std::string status;  // "passed", "failed", "not applicable", "not testable"; of a case also "declined"
  std::string cause, cure;
  std::string crash;  // how the process ended, when it did not answer
  double seconds = 0;
  std::vector<std::string> operators;  // of a case
};

/// A process of this executable, what it answers line by line, and what it prints.
class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// One line to its standard input; false when it is gone.
  bool send(const std::string& line);
  /// Its next answer. Stages that it names on the way are kept. Empty when it has ended, or when time is up.
  std::optional<std::string> receive(double limit_seconds);
  /// Waits for its end, and ends it itself when time is up; false then.
  bool finish(double limit_seconds);

  const std::string& last_stage() const { return stage_; }
  bool ended_well() const;
  /// How the process ended.
  std::string obituary() const;
  /// The last line that it printed.
  std::string last_words() const;

 private:
  pid_t pid_ = -1;
  int read_fd_ = -1, write_fd_ = -1, printed_fd_ = -1, status_ = 0;
  bool at_end_ = false;
  std::string buffer_, stage_ = "the first call";
};

/// Runs this executable with `arguments` and reads its answer; a crash or a time-out is a failed result.
Result run_child(const std::vector<std::string>& arguments, double limit_seconds);

/// The child's side: a line that its parent receives.
void say(const std::string& line);
/// What it found, as a line.
void answer(const Result& result);
Result read_answer(const std::string& line);

/// Says to the parent process what is being done, so that a crash or a time-out can be placed.
void stage(const std::string& what);

}  // namespace tenon::cts
