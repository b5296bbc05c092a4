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
#include <stdexcept>
#include <utility>

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

/// Moves a descriptor above the numbers that the child gets, so that dup2 does not overwrite it.
int move_up(int fd) {
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 10);
  close(fd);
  return moved;
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments) {
  signal(SIGPIPE, SIG_IGN);  // a dead child is noticed because it does not answer
  int answers[2], requests[2];
  if (pipe2(answers, O_CLOEXEC) != 0 || pipe2(requests, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe: " + std::string(strerror(errno)));
  read_fd_ = move_up(answers[0]);
  write_fd_ = move_up(requests[1]);
  const int answer_fd = move_up(answers[1]), request_fd = move_up(requests[0]);
  printed_fd_ = move_up(memfd_create("output", MFD_CLOEXEC));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, request_fd, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, printed_fd_, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, printed_fd_, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answer_fd, kAnswerFd);
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), "tenon-cts");
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int failure = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(answer_fd);
  close(request_fd);
  if (failure != 0) throw std::runtime_error("no process: " + std::string(strerror(failure)));
}

Child::~Child() {
  finish(0);
  if (write_fd_ >= 0) close(write_fd_);
  close(read_fd_);
  close(printed_fd_);
}

bool Child::send(const std::string& line) {
  const std::string text = line + "\n";
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(write_fd_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

std::optional<std::string> Child::receive(double limit_seconds) {
  const auto begin = Clock::now();
  char chunk[4096];
  for (;;) {
    for (size_t end; (end = buffer_.find('\n')) != std::string::npos;) {
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (line.rfind('@', 0) == 0) {
        activity_ = line.substr(1);
      } else if (line.rfind('+', 0) == 0) {
        step_ = line.substr(1);
      } else {
        return line;
      }
    }
    if (at_end_) return std::nullopt;
    const int left = static_cast<int>((limit_seconds - seconds_since(begin)) * 1000);
    pollfd fd{read_fd_, POLLIN, 0};
    if (left <= 0 || poll(&fd, 1, left) == 0) return std::nullopt;
    const ssize_t n = read(read_fd_, chunk, sizeof chunk);
    if (n > 0) buffer_.append(chunk, static_cast<size_t>(n));
    at_end_ = n == 0;
  }
}

bool Child::finish(double limit_seconds) {
  if (pid_ < 0) return true;
  if (write_fd_ >= 0) close(std::exchange(write_fd_, -1));
  const auto begin = Clock::now();
  bool in_time = true;
  while (waitpid(pid_, &status_, WNOHANG) == 0) {
    if (seconds_since(begin) >= limit_seconds) {
      in_time = false;
      ::kill(pid_, SIGKILL);
      waitpid(pid_, &status_, 0);
      break;
    }
    poll(nullptr, 0, 2);
  }
  pid_ = -1;
  return in_time;
}

bool Child::ended_well() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }

std::string Child::obituary() const {
  if (WIFSIGNALED(status_)) {
    const int signal = WTERMSIG(status_);
    return "the process was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "the process ended itself with exit code " + std::to_string(WEXITSTATUS(status_));
}

std::string Child::last_words() const {
  std::string text(4096, '\0');
  const off_t size = lseek(printed_fd_, 0, SEEK_END);
  const ssize_t n = pread(printed_fd_, text.data(), text.size(), std::max<off_t>(0, size - 4096));
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

void say(const std::string& line) { write_line(line); }

void report_activity(const std::string& what) { write_line("@" + what); }

void report_step(const std::string& name) { write_line("+" + name); }

void answer(const Result& result) {
  const Json json = {{"status", result.status},
                     {"cause", result.cause},
                     {"cure", result.cure},
                     {"operators", result.operators}};
  write_line(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result read_answer(const std::string& line) {
  Result result;
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return result;
  result.status = json.value("status", "failed");
  result.cause = json.value("cause", "");
  result.cure = json.value("cure", "");
  result.operators = json.value("operators", std::vector<std::string>{});
  return result;
}

Result run_child(const std::vector<std::string>& arguments, double limit_seconds) {
  const auto begin = Clock::now();
  Child child(arguments);
  const std::optional<std::string> line = child.receive(limit_seconds);
  const double left = limit_seconds - seconds_since(begin);
  const bool in_time = child.finish(std::max(0.0, left));
  Result result = line ? read_answer(*line) : Result();
  result.seconds = seconds_since(begin);
  result.step = child.last_step();
  if (line && (result.status == "failed" || (in_time && child.ended_well()))) return result;
  result.status = "failed";
  result.crash = in_time ? child.obituary() : "no answer within " + std::to_string(limit_seconds) + " s";
  result.cause = result.crash +
                 (line ? ", after the check, while the process was ending" : " in " + child.last_activity());
  if (const std::string words = child.last_words(); !words.empty()) result.cause += "; it printed: " + words;
  return result;
}

}  // namespace tenon::cts
