#include "log.h"

#include <fcntl.h>
#include <unistd.h>

namespace fake_cuda {
namespace {

void write_line(int fd, std::string_view text) {
  std::string line(text);
  line += '\n';
  // One write, so that lines of several threads and processes do not mix.
  if (write(fd, line.data(), line.size()) < 0) return;
}

}  // namespace

void Log::open(const std::string& path) {
  if (!path.empty()) fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

void Log::line(std::string_view text) const {
  if (fd_ >= 0) write_line(fd_, text);
}

void Log::report(std::string_view text) const {
  write_line(fd_ >= 0 ? fd_ : STDERR_FILENO, std::string("fake CUDA: ").append(text));
}

}  // namespace fake_cuda
