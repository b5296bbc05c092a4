#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "ep-sdk/cts/process_state.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

extern char** environ;

namespace tenon::cts {
namespace {

std::string read_link(const std::string& path) {
  char text[4096];
  const ssize_t n = readlink(path.c_str(), text, sizeof text);
  return n < 0 ? std::string() : std::string(text, static_cast<size_t>(n));
}

std::string stream_text(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return "closed";
  return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) + " flags " +
         std::to_string(fcntl(fd, F_GETFL));
}

std::string signal_text() {
  std::string out;
  for (int number = 1; number < 32; ++number) {
    struct sigaction action {};
    if (number == SIGKILL || number == SIGSTOP || sigaction(number, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_DFL) continue;
    out += std::string(out.empty() ? "" : ", ") + strsignal(number) + " is " +
           (action.sa_handler == SIG_IGN ? "ignored" : "handled");
  }
  sigset_t blocked;
  sigemptyset(&blocked);
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int number = 1; number < 32; ++number) {
    if (sigismember(&blocked, number) == 1)
      out += std::string(out.empty() ? "" : ", ") + strsignal(number) + " is blocked";
  }
  return out;
}

std::string float_text() {
  std::string out = "rounding " + std::to_string(fegetround());
#if defined(__SSE__)
  // The low six bits are flags of past exceptions, not a mode.
  out += ", MXCSR " + std::to_string(_mm_getcsr() & ~0x3Fu);
#endif
#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__i386__))
  out += ", traps " + std::to_string(fegetexcept());
#endif
  return out;
}

std::string environment_text() {
  std::string out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    out += std::string(*entry) + "\n";
  return out;
}

}  // namespace

size_t count_threads() {
  size_t count = 0;
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

std::map<int, std::string> open_files() {
  std::map<int, std::string> out;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return out;
  while (const dirent* entry = readdir(folder)) {
    const int fd = atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd == dirfd(folder)) continue;
    out[fd] = read_link("/proc/self/fd/" + std::string(entry->d_name));
  }
  closedir(folder);
  return out;
}

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

std::map<std::string, std::string> process_state() {
  const char* locale = setlocale(LC_ALL, nullptr);
  const mode_t mask = umask(022);
  umask(mask);
  return {{"working directory", read_link("/proc/self/cwd")},
          {"environment", environment_text()},
          {"locale", locale == nullptr ? "" : locale},
          {"signal handlers", signal_text()},
          {"floating-point mode", float_text()},
          {"standard input", stream_text(0)},
          {"standard output", stream_text(1)},
          {"standard error", stream_text(2)},
          {"umask", std::to_string(mask)}};
}

}  // namespace tenon::cts
