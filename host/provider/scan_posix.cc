#if !defined(_WIN32)

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "host/base/text.h"
#include "host/provider/negotiate.h"
#include "host/provider/refusal.h"
#include "host/provider/scan.h"
#include "host/provider/scan_read.h"

extern char** environ;

namespace tenon::provider {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxOutputBytes = 4096;

// A pipe that closes its ends in the destructor.
struct Pipe {
  int read = -1, write = -1;

  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    if (write > kVerdictDescriptor) return true;
    // In an application without standard streams the number may be so low that the child's redirections overwrite it.
    int higher = ::fcntl(write, F_DUPFD_CLOEXEC, kVerdictDescriptor + 1);
    close_write();
    write = higher;
    return higher >= 0;
  }
  void close_write() {
    if (write >= 0) ::close(write);
    write = -1;
  }
  ~Pipe() {
    if (read >= 0) ::close(read);
    close_write();
  }
};

// The child process. The destructor ends it.
struct Child {
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  // Ends the child if it still runs, and in any case the processes that the library left in its group.
  void end();

  pid_t pid = -1;
  bool ended = false;
  std::string answer;  // from the verdict pipe
  std::string output;  // the last bytes that it printed
  bool timed_out = false;
  bool status_known = false;
  int status = 0;
};

// Starts the helper with a default signal mask, default handlers and a process group of its own. The helper closes
// inherited descriptors itself.
int start(const std::string& helper, char* const* arguments, const Pipe& answer, const Pipe& output,
          pid_t& out_pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  int error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  const std::pair<int, int> copies[] = {
      {output.write, 1}, {output.write, 2}, {answer.write, kVerdictDescriptor}};
  for (const auto& [from, to] : copies) {
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, from, to);
  }
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  if (error == 0) error = posix_spawn(&out_pid, helper.c_str(), &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

Status spawn(const ScanRequest& request, const Pipe& answer, const Pipe& output, pid_t& out_pid) {
  const Manifest& manifest = *request.manifest;
  std::vector<std::string> words = {request.helper,
                                    request.file,
                                    manifest.directory,
                                    manifest.id,
                                    manifest.version.to_string(),
                                    str_cat(static_cast<int64_t>(request.timeout_seconds) + 1)};
  words.insert(words.end(), manifest.required_sonames.begin(), manifest.required_sonames.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int error = start(request.helper, arguments.data(), answer, output, out_pid);
  if (error == 0) return ok_status();
  if (error == ENOMEM)
    return out_of_memory("the scan helper '", request.helper, "' cannot be started: ", std::strerror(error));
  return refuse(Refusal::kPolicy,
                str_cat("the scan helper '", request.helper, "' cannot be started: ", std::strerror(error)));
}

// Reads the available bytes. Returns false at the end of the pipe.
bool drain(int descriptor, std::string& text, size_t limit, bool keep_last) {
  char piece[4096];
  ssize_t got = ::read(descriptor, piece, sizeof piece);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) return false;
  text.append(piece, static_cast<size_t>(got));
  if (text.size() > limit) keep_last ? text.erase(0, text.size() - limit) : text.erase(limit);
  return true;
}

// True when the child has ended. It stays a zombie, so that the id of its process group is not used again.
bool has_ended(const Child& child) {
  siginfo_t info{};
  const int error = ::waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOHANG | WNOWAIT);
  // ECHILD: the application ignores SIGCHLD or waits for any child, and got the status.
  return error == 0 ? info.si_pid == child.pid : errno == ECHILD;
}

// Reads both pipes until the child closes the first or the time is over. A process that the library left behind
// may keep the pipes open, so the end of the child also ends the loop.
void collect(Child& child, const Pipe& answer, const Pipe& output, Clock::time_point deadline) {
  pollfd watched[2] = {{answer.read, POLLIN, 0}, {output.read, POLLIN, 0}};
  while (watched[0].fd >= 0) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      child.timed_out = true;
      return;
    }
    int ready = ::poll(watched, 2, static_cast<int>(std::min<int64_t>(left, 50)));
    if (ready < 0 && errno != EINTR) return;
    if (ready > 0 && watched[0].revents != 0 && !drain(answer.read, child.answer, kMaxVerdictBytes, false))
      watched[0].fd = -1;
    if (ready > 0 && watched[1].revents != 0 && !drain(output.read, child.output, kMaxOutputBytes, true))
      watched[1].fd = -1;
    if (ready == 0 && has_ended(child)) return;
  }
}

// Waits for the end of a child that closed its pipe. Returns false at the deadline.
bool wait_for_end(const Child& child, Clock::time_point deadline) {
  while (!has_ended(child)) {
    if (Clock::now() >= deadline) return false;
    ::usleep(500);
  }
  return true;
}

void Child::end() {
  if (pid < 0 || ended) return;
  ended = true;
  ::kill(-pid, SIGKILL);
  while (!status_known) {
    pid_t got = ::waitpid(pid, &status, 0);
    if (got == pid) status_known = true;
    if (got < 0 && errno != EINTR) return;
  }
}

std::string last_line(const std::string& output) {
  std::vector<std::string> lines = split(output, '\n');
  if (lines.empty()) return {};
  return str_cat("; its last output: ",
                 bounded_text(lines.back().data(), std::min<size_t>(lines.back().size(), 300)));
}

std::string end_of(const Child& child) {
  if (!child.status_known) return "it ended in an unknown way";
  if (WIFSIGNALED(child.status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(child.status));
    const char* meaning = ::strsignal(WTERMSIG(child.status));
    return str_cat("it was ended by SIG", name ? name : "?", " (", meaning ? meaning : "", ")");
  }
  return str_cat("it ended the process with exit code ", WEXITSTATUS(child.status));
}

}  // namespace

std::string hidden_folders() {
  constexpr std::pair<const char*, const char*> kProofs[] = {
      {"/sys", "/sys/devices"}, {"/proc", "/proc/self"}, {"/dev", "/dev/null"}};
  std::string out;
  std::error_code error;
  for (const auto& [folder, proof] : kProofs) {
    if (!std::filesystem::exists(proof, error)) out += (out.empty() ? "" : ", ") + std::string(folder);
  }
  return out;
}

namespace {

std::string crash_cure(const std::string& hint) {
  std::string cure(refusal_cure(Refusal::kScanCrash));
  if (const std::string hidden = hidden_folders(); !hidden.empty()) {
    cure = str_cat(
        "make the system's folders visible to this process (mount them in the container or chroot): ", hidden,
        "; or ", cure);
  }
  return hint.empty() ? cure : str_cat(cure, "; ", hint);
}

Result<ScanAnswer> judge(const Child& child, const ScanRequest& request) {
  ScanTranscript transcript = read_transcript(child.answer);
  std::string place = transcript.activity.empty() ? "while it was started" : "in " + transcript.activity;
  if (child.timed_out) {
    return refuse(Refusal::kScanTimeout,
                  str_cat("'", request.file, "' did not answer within ", request.timeout_seconds, " s ",
                          place, last_line(child.output)));
  }
  bool good_end = !child.status_known || (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0);
  if (!transcript.verdict || !good_end) {
    const std::string hidden = hidden_folders();
    return refuse(Refusal::kScanCrash,
                  str_cat("'", request.file, "' died ", place, ": ", end_of(child), last_line(child.output),
                          hidden.empty() ? "" : "; hidden from this process: ", hidden),
                  crash_cure(request.manifest->required_hint));
  }
  ScanVerdict& verdict = *transcript.verdict;
  if (verdict.out_of_memory) return out_of_memory("scanning '", request.file, "': ", verdict.reason);
  if (verdict.refusal != Refusal::kNone) {
    const bool installable = verdict.refusal == Refusal::kDepMissing || verdict.refusal == Refusal::kNoDevice;
    return refuse(verdict.refusal, verdict.reason,
                  installable ? std::string_view(request.manifest->required_hint) : "");
  }
  return ScanAnswer{std::move(verdict.build_id), std::move(verdict.devices)};
}

}  // namespace

Result<ScanAnswer> scan_library(const ScanRequest& request) {
  std::error_code error;
  if (request.helper.empty() || !std::filesystem::is_regular_file(request.helper, error)) {
    return refuse(Refusal::kPolicy, request.helper.empty()
                                        ? "the scan helper tenon-scan is not installed"
                                        : str_cat("there is no scan helper at '", request.helper, "'"));
  }
  Pipe answer, output;
  if (!answer.open() || !output.open()) {
    return refuse(Refusal::kPolicy, str_cat("cannot make a pipe for the scan helper: ", std::strerror(errno)),
                  "raise the limit of open files");
  }
  Child child;
  RETURN_IF_ERROR(spawn(request, answer, output, child.pid));
  answer.close_write();
  output.close_write();
  auto deadline =
      Clock::now() + std::chrono::microseconds(static_cast<int64_t>(request.timeout_seconds * 1e6));
  collect(child, answer, output, deadline);
  if (!child.timed_out && !wait_for_end(child, deadline)) child.timed_out = true;
  child.end();
  // The pipes may still hold what the child wrote before its end.
  for (int descriptor : {answer.read, output.read}) ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  size_t before = std::string::npos;
  while (child.answer.size() != before) {
    before = child.answer.size();
    drain(answer.read, child.answer, kMaxVerdictBytes, false);
  }
  drain(output.read, child.output, kMaxOutputBytes, true);
  return judge(child, request);
}

namespace {

// The path with links resolved; empty when nothing is there.
std::string real_path(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();  // says nothing about the path
  return error ? std::string() : real.string();
}

}  // namespace

namespace {

std::string find_own_file() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&find_own_file), &info) == 0 || info.dli_fname == nullptr) return {};
  // An executable file's own name may be relative to an earlier current folder.
  std::filesystem::path named(info.dli_fname);
  return real_path(named.is_absolute() ? named : std::filesystem::path("/proc/self/exe"));
}

}  // namespace

const std::string& own_file() {
  static const std::string path = find_own_file();  // looked up once: an upgrade may replace the file later
  return path;
}

std::string own_folder() { return std::filesystem::path(own_file()).parent_path().string(); }

std::string find_scan_helper() {
  std::string folder = own_folder();
  if (folder.empty()) return {};
  for (const char* relative :
       {"/tenon-scan", "/tenon/tenon-scan", "/../lib/tenon-scan", "/../bin/tenon-scan"}) {
    std::error_code error;
    std::string path = real_path(folder + relative);
    if (!path.empty() && std::filesystem::is_regular_file(path, error)) return path;
  }
  return {};
}

}  // namespace tenon::provider

#endif
