#include "tools/tenon/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace tenon::cli {
namespace {

struct Pipe {
  int read = -1, write = -1;
  bool open() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return false;
    read = fds[0];
    write = fds[1];
    return true;
  }
  ~Pipe() {
    if (read >= 0) close(read);
    if (write >= 0) close(write);
  }
};

}  // namespace

std::unique_ptr<WorkerProcess> WorkerProcess::start(const std::vector<std::string>& arguments) {
  signal(SIGPIPE, SIG_IGN);  // the answer pipe shows that a worker has died
  Pipe requests, answers;
  if (!requests.open() || !answers.open()) return nullptr;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, requests.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answers.write, kAnswerFd);
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), "tenon");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int failure = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return nullptr;
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess);
  worker->pid_ = pid;
  worker->request_fd_ = std::exchange(requests.write, -1);
  worker->answer_fd_ = std::exchange(answers.read, -1);
  fcntl(worker->answer_fd_, F_SETFL, O_NONBLOCK);
  return worker;
}

WorkerProcess::~WorkerProcess() {
  end_input();
  if (answer_fd_ >= 0) close(answer_fd_);
  if (pid_ <= 0) return;
  // Tools that watch the child, such as compute-sanitizer, report when it exits.
  constexpr int kStep = 5;
  for (int waited = 0; waited < kPatience; waited += kStep) {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) return;
    poll(nullptr, 0, kStep);
  }
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void WorkerProcess::end_input() {
  if (request_fd_ >= 0) close(std::exchange(request_fd_, -1));
}

bool WorkerProcess::send(const std::string& line) {
  std::string text = line + "\n";
  size_t done = 0;
  while (done < text.size()) {
    ssize_t n = write(request_fd_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

std::optional<std::string> WorkerProcess::receive(bool* ended) {
  *ended = false;
  char chunk[4096];
  while (buffer_.find('\n') == std::string::npos) {
    ssize_t n = read(answer_fd_, chunk, sizeof chunk);
    if (n > 0) {
      buffer_.append(chunk, static_cast<size_t>(n));
    } else {
      *ended = n == 0 || (errno != EAGAIN && errno != EINTR);
      break;
    }
  }
  size_t end = buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

void WorkerProcess::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

std::string WorkerProcess::obituary() {
  if (pid_ <= 0) return "ended";
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  if (WIFSIGNALED(status))
    return "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) +
           ")";
  return "exited with " + std::to_string(WEXITSTATUS(status));
}

void wait_for_any(const std::vector<WorkerProcess*>& workers, int milliseconds) {
  std::vector<pollfd> fds;
  for (WorkerProcess* worker : workers) fds.push_back({worker->answer_fd(), POLLIN, 0});
  poll(fds.data(), fds.size(), milliseconds);
}

}  // namespace tenon::cli
