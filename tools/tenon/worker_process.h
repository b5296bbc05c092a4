// A child of this command that answers lines with lines; platform code of `tenon test` lives in the .cc
// alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenon::cli {

/// Long-lived; replaced after a crash. Not thread-safe.
class WorkerProcess {
 public:
  /// Starts this very program with `arguments`. The child reads requests from stdin and answers on kAnswerFd.
  static std::unique_ptr<WorkerProcess> start(const std::vector<std::string>& arguments);
  ~WorkerProcess();

  /// False when the child is gone.
  bool send(const std::string& line);
  /// A whole line if one has come. `ended` is set when the child is gone.
  std::optional<std::string> receive(bool* ended);
  int answer_fd() const { return answer_fd_; }
  void kill();
  /// "killed by signal 11 (Segmentation fault)", "exited with 3". Only after it ended or was killed.
  std::string obituary();

  static constexpr int kAnswerFd = 3;

 private:
  WorkerProcess() = default;
  int pid_ = -1, request_fd_ = -1, answer_fd_ = -1;
  std::string buffer_;
};

/// Waits until one of the workers has something to say, at most `milliseconds`.
void wait_for_any(const std::vector<WorkerProcess*>& workers, int milliseconds);

}  // namespace tenon::cli
