// A child process that answers each line with a line. The .cc file contains all platform code of `tenon test`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenon::cli {

/// Not thread-safe.
class WorkerProcess {
 public:
  /// Starts this program again with `arguments`. The child reads requests from stdin and answers on kAnswerFd. Null
  /// when it cannot be started.
  static std::unique_ptr<WorkerProcess> start(const std::vector<std::string>& arguments);
  /// Waits until the child ends by itself, as it does when its input ends, and kills it after kPatience.
  ~WorkerProcess();

  /// False when the child has ended.
  bool send(const std::string& line);
  /// The next complete line, if one has arrived. Sets `ended` when the child has ended.
  std::optional<std::string> receive(bool* ended);
  int answer_fd() const { return answer_fd_; }
  /// Lets the child end, without waiting for it. Nothing can be sent afterwards.
  void end_input();
  void kill();
  /// "killed by signal 11 (Segmentation fault)", "exited with 3". To be called after the child ended or was killed.
  std::string obituary();

  static constexpr int kAnswerFd = 3;
  static constexpr int kPatience = 10000;  // milliseconds

 private:
  WorkerProcess() = default;
  int pid_ = -1, request_fd_ = -1, answer_fd_ = -1;
  std::string buffer_;
};

/// Waits until a worker has sent something or ended, at most `milliseconds`.
void wait_for_any(const std::vector<WorkerProcess*>& workers, int milliseconds);

}  // namespace tenon::cli
