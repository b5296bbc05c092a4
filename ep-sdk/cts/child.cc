#include "ep-sdk/cts/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "ep-sdk/cts/check.h"

extern char** environ;

namespace tenon::cts {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kAnswerFd = 3;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void write_line(const std::string& line) {
  const std::string text = line + "\n";
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(kAnswerFd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

/// The process, what it answers and what it prints.
class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments) {
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) throw std::runtime_error("no pipe: " + std::string(strerror(errno)));
    // Above the numbers that the child gets, so that no dup2 meets its own target.
    read_fd_ = fcntl(pipe_fds[0], F_DUPFD_CLOEXEC, 10);
    const int write_fd = fcntl(pipe_fds[1], F_DUPFD_CLOEXEC, 10);
    close(pipe_fds[0]), close(pipe_fds[1]);
    const int printed = memfd_create("output", MFD_CLOEXEC);
    printed_fd_ = fcntl(printed, F_DUPFD_CLOEXEC, 10);
    close(printed);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, printed_fd_, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, printed_fd_, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, write_fd, kAnswerFd);
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), "tenon-cts");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const int failure = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(write_fd);
    if (failure != 0) throw std::runtime_error("no process: " + std::string(strerror(failure)));
  }
  ~Child() {
    close(read_fd_);
    close(printed_fd_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Reads until the child closes its end; false when time is up.
  bool read_all(double limit) {
    const auto begin = Clock::now();
    char chunk[4096];
    for (;;) {
      const int left = static_cast<int>((limit - seconds_since(begin)) * 1000);
      pollfd fd{read_fd_, POLLIN, 0};
      if (left <= 0 || poll(&fd, 1, left) == 0) return false;
      const ssize_t n = read(read_fd_, chunk, sizeof chunk);
      if (n == 0) return true;
      if (n > 0) said_.append(chunk, static_cast<size_t>(n));
    }
  }
  /// Waits for the end of the process, whose pipe is closed; false when time is up.
  bool wait(double limit) {
    const auto begin = Clock::now();
    while (waitpid(pid_, &status_, WNOHANG) == 0) {
      if (seconds_since(begin) > limit) return false;
      poll(nullptr, 0, 2);
    }
    return true;
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
  }

  const std::string& said() const { return said_; }
  std::string obituary() const {
    if (WIFSIGNALED(status_)) {
      const int signal = WTERMSIG(status_);
      return "the process was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
    }
    return "the process ended itself with exit code " + std::to_string(WEXITSTATUS(status_));
  }
  bool ended_well() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }

  /// The last line that the child printed.
  std::string last_words() const {
    std::string text(4096, '\0');
    const off_t size = lseek(printed_fd_, 0, SEEK_END);
    const ssize_t n = pread(printed_fd_, text.data(), text.size(), std::max<off_t>(0, size - 4096));
    text.resize(n > 0 ? static_cast<size_t>(n) : 0);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.find_last_of('\n') + 1);
  }

 private:
  pid_t pid_ = -1;
  int read_fd_ = -1, printed_fd_ = -1, status_ = 0;
  std::string said_;
};

/// The last stage that the child named, and its result if it came so far.
void parse(const std::string& said, std::string* stage, Result* result, bool* answered) {
  for (size_t begin = 0; begin < said.size();) {
    const size_t end = std::min(said.find('\n', begin), said.size());
    const std::string line = said.substr(begin, end - begin);
    begin = end + 1;
    if (line.rfind('@', 0) == 0) {
      *stage = line.substr(1);
      continue;
    }
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    *answered = true;
    result->status = json.value("status", "failed");
    result->cause = json.value("cause", "");
    result->cure = json.value("cure", "");
  }
}

}  // namespace

void stage(const std::string& what) { write_line("@" + what); }

void answer(const Result& result) {
  write_line(Json{{"status", result.status}, {"cause", result.cause}, {"cure", result.cure}}.dump(
      -1, ' ', false, Json::error_handler_t::replace));
}

Result run_child(const std::vector<std::string>& arguments, double limit_seconds) {
  const auto begin = Clock::now();
  Child child(arguments);
  Result result;
  std::string stage = "the first call";
  bool answered = false;
  const bool in_time = child.read_all(limit_seconds) && child.wait(limit_seconds);
  if (!in_time) child.kill();
  parse(child.said(), &stage, &result, &answered);
  result.seconds = seconds_since(begin);
  if (in_time && child.ended_well() && answered) return result;
  const bool was_failure = answered && result.status == "failed";
  if (was_failure) return result;  // what was found first
  result.status = "failed";
  result.crash = in_time ? child.obituary() : "no answer within " + std::to_string(int(limit_seconds)) + " s";
  result.cause =
      result.crash + (answered ? ", after the check, while the process was ending" : " in " + stage);
  if (const std::string words = child.last_words(); !words.empty()) result.cause += "; it printed: " + words;
  return result;
}

int serve_check(const std::string& id, const Target& target) {
  Result result;
  result.status = "passed";
  try {
    const Check* check = find_check(id);
    if (check == nullptr || check->body == nullptr) throw std::runtime_error("there is no check " + id);
    check->body(target);
  } catch (const Failed& failed) {
    result.status = "failed", result.cause = failed.what(), result.cure = failed.cure;
  } catch (const NotApplicable& reason) {
    result.status = "not applicable", result.cause = reason.what();
  } catch (const std::exception& e) {
    result.status = "failed", result.cause = e.what();
  }
  answer(result);
  return 0;
}

}  // namespace tenon::cts
