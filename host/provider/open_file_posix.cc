#if !defined(_WIN32)

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>

#include "ep-sdk/shared/writers.h"
#include "host/provider/open_file.h"
#include "host/provider/refusal.h"
#include "host/provider/scan.h"

namespace tenon::provider {
namespace {

FileIdentity identity_from(const struct stat& status) {
  auto nanoseconds = [](const struct timespec& time) {
    return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
  };
  return {static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino),
          static_cast<uint64_t>(status.st_size), nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

}  // namespace

Result<std::unique_ptr<OpenFile>> OpenFile::open(const std::string& path) {
  std::unique_ptr<OpenFile> file(new OpenFile());  // made first, because it closes the descriptor
  file->path_ = path;
  // O_NONBLOCK: opening a pipe must not block.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && errno == ENOMEM)
    return out_of_memory("'", path, "' cannot be opened: ", std::strerror(errno));
  if (descriptor < 0) return invalid_input("'", path, "' cannot be opened: ", std::strerror(errno));
  file->handle_ = descriptor;
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    return invalid_input("'", path, "' cannot be examined: ", std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return invalid_input("'", path, "' is not a regular file");
  file->identity_ = identity_from(status);
  struct timespec now;
  constexpr int64_t kCoarsest = 2'000'000'000;  // coarsest clock of a file system, in ns
  file->settled_ = clock_gettime(CLOCK_REALTIME, &now) == 0 &&
                   int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - file->identity_.changed_ns > kCoarsest;
  return file;
}

bool OpenFile::is_unchanged() const {
  struct stat status;
  return fstat(static_cast<int>(handle_), &status) == 0 && identity_from(status) == identity_;
}

OpenFile::~OpenFile() {
  if (handle_ >= 0) ::close(static_cast<int>(handle_));
}

bool OpenFile::read(uint64_t offset, void* out, size_t n) const {
  auto* to = static_cast<char*>(out);
  while (n > 0) {
    ssize_t got = ::pread(static_cast<int>(handle_), to, n, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<uint64_t>(got);
    n -= static_cast<size_t>(got);
  }
  return true;
}

Result<FileIdentity> identity_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return invalid_input("'", path, "': ", std::strerror(errno));
  return identity_from(status);
}

namespace {

/// The owner of libtenon's file for paths below its folder, else root.
uint32_t owner_of_libtenon(const std::string& path) {
  const std::string folder = own_folder() + "/";
  const std::string& library = own_file();
  struct stat status;
  if (library.empty() || path.compare(0, folder.size(), folder) != 0) return 0;
  return ::stat(library.c_str(), &status) == 0 ? status.st_uid : 0;
}

}  // namespace

Status check_writers(const std::string& path) {
  const std::string writer = shared::other_writer(path, owner_of_libtenon(path));
  return writer.empty() ? ok_status() : refuse(Refusal::kFileMode, writer);
}

}  // namespace tenon::provider

#endif
