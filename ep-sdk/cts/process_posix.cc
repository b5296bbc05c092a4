#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "ep-sdk/cts/process.h"

extern char** environ;

namespace tenon::cts {
namespace {

constexpr int kAnswerFd = 3;

std::vector<std::string>& launcher() {
  static std::vector<std::string> words;
  return words;
}

/// The path of this program's file.
std::string own_path() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  if (n < 0) throw std::system_error(errno, std::generic_category(), "the path of this program");
  return std::string(path, static_cast<size_t>(n));
}

bool write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

/// Moves a descriptor above the numbers that the child gets, so that dup2 does not overwrite it.
int move_up(int fd) {
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 10);
  close(fd);
  return moved;
}

}  // namespace

void set_launcher(std::vector<std::string> words) { launcher() = std::move(words); }

struct Process::State {
  pid_t pid = -1;
  int read_fd = -1, write_fd = -1, printed_fd = -1, status = 0;
};

Process::Process(const std::vector<std::string>& arguments) : state_(std::make_unique<State>()) {
  signal(SIGPIPE, SIG_IGN);  // a dead child is noticed because it does not answer
  int answers[2], requests[2];
  if (pipe2(answers, O_CLOEXEC) != 0 || pipe2(requests, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "no pipe");
  state_->read_fd = move_up(answers[0]);
  state_->write_fd = move_up(requests[1]);
  const int answer_fd = move_up(answers[1]), request_fd = move_up(requests[0]);
  state_->printed_fd = move_up(memfd_create("output", MFD_CLOEXEC));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, request_fd, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, state_->printed_fd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, state_->printed_fd, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answer_fd, kAnswerFd);
  std::vector<std::string> words = launcher();
  words.push_back(words.empty() ? "tenon-cts" : own_path());
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const char* program = launcher().empty() ? "/proc/self/exe" : argv[0];
  const int failure = posix_spawnp(&state_->pid, program, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(answer_fd);
  close(request_fd);
  if (failure == 0) return;
  state_->pid = -1;
  throw std::system_error(failure, std::generic_category(), "no process");
}

Process::~Process() {
  if (!wait(0)) kill();
  close_input();
  close(state_->read_fd);
  close(state_->printed_fd);
}

bool Process::write(const std::string& text) { return write_all(state_->write_fd, text); }

void Process::close_input() {
  if (state_->write_fd >= 0) close(std::exchange(state_->write_fd, -1));
}

std::optional<size_t> Process::read(char* bytes, size_t size, int milliseconds) {
  pollfd fd{state_->read_fd, POLLIN, 0};
  if (poll(&fd, 1, milliseconds) == 0) return std::nullopt;
  const ssize_t n = ::read(state_->read_fd, bytes, size);
  if (n < 0) return std::nullopt;  // interrupted
  return static_cast<size_t>(n);
}

bool Process::wait(int milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (state_->pid >= 0 && waitpid(state_->pid, &state_->status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= end) return false;
    poll(nullptr, 0, 2);
  }
  state_->pid = -1;
  return true;
}

void Process::kill() {
  if (state_->pid < 0) return;
  ::kill(state_->pid, SIGKILL);
  waitpid(state_->pid, &state_->status, 0);
  state_->pid = -1;
}

bool Process::ended_well() const { return WIFEXITED(state_->status) && WEXITSTATUS(state_->status) == 0; }

std::string Process::obituary() const {
  if (WIFSIGNALED(state_->status)) {
    const int signal = WTERMSIG(state_->status);
    return "the process was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "the process ended itself with exit code " + std::to_string(WEXITSTATUS(state_->status));
}

std::string Process::output(size_t most) const {
  std::string text(most, '\0');
  const off_t size = lseek(state_->printed_fd, 0, SEEK_END);
  const ssize_t n = pread(state_->printed_fd, text.data(), text.size(),
                          std::max<off_t>(0, size - static_cast<off_t>(most)));
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

void send_to_parent(const std::string& text) { write_all(kAnswerFd, text); }

std::vector<std::string> command_line(int argc, char** argv) { return {argv, argv + argc}; }

void unset_variable(const char* name) { unsetenv(name); }

}  // namespace tenon::cts
