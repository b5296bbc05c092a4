#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "host/services/blob_file.h"

namespace tenon::runtime {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::string error_text() { return std::generic_category().message(errno); }

Status failed(std::string_view what, const std::string& path) {
  return Status(StatusCode::kUnavailable, str_cat(what, ": ", error_text()))
      .with_context(str_cat("file '", path, "'"));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

Result<MappedFile> map_file(const std::string& path) {
  const Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));  // a FIFO must not stop us
  struct stat info {};
  if (!file.ok() || ::fstat(file.get(), &info) != 0) return not_found("no file '", path, "'");
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || info.st_size == 0) {
    return not_found("'", path, "' is not a file of this user");
  }
  MappedFile out;
  out.bytes = static_cast<uint64_t>(info.st_size);
  out.address = ::mmap(nullptr, out.bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (out.address == MAP_FAILED) return failed("cannot be mapped", path);
  ::futimens(file.get(), nullptr);
  return out;
}

void unmap_file(const MappedFile& file) { ::munmap(file.address, file.bytes); }

Status write_file_atomically(const std::string& path, std::span<const std::string_view> pieces) {
  static std::atomic<uint32_t> count{0};
  const std::string temporary =
      str_cat(path, ".", static_cast<int64_t>(::getpid()), ".", count.fetch_add(1), ".tmp");
  const Descriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.ok()) return failed("cannot be written", temporary);
  bool written = true;
  for (const std::string_view piece : pieces) written = written && write_all(file.get(), piece);
  if (!written || ::fsync(file.get()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    Status status = failed("cannot be written", path);
    ::unlink(temporary.c_str());
    return status;
  }
  return ok_status();
}

Status make_private_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path above = std::filesystem::path(path).parent_path();
  if (!above.empty()) std::filesystem::create_directories(above, error);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed("the folder cannot be made", path);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return failed("cannot be read", path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 0022) != 0) {
    return Status(StatusCode::kPermissionDenied, "is not a folder that only this user can change")
        .with_context(str_cat("file '", path, "'"));
  }
  return ok_status();
}

std::string user_cache_folder() {
  if (::getuid() != ::geteuid() || ::getgid() != ::getegid()) return {};
  const char* cache = ::secure_getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/tenon";
  const char* home = ::secure_getenv("HOME");
  if (home == nullptr || home[0] != '/') return {};
  return std::string(home) + "/.cache/tenon";
}

}  // namespace tenon::runtime
