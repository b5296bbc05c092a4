#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "host/services/blob_file.h"

namespace tenon::runtime {
namespace {

Status failed(std::string_view what, const std::string& path) {
  return Status(StatusCode::kUnavailable, str_cat(what, ": ", std::generic_category().message(errno)))
      .with_context(str_cat("file '", path, "'"));
}

}  // namespace

Result<Mapping> map_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not block.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!file.ok() || ::fstat(file.get(), &info) != 0) return not_found("no file '", path, "'");
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || info.st_size == 0) {
    return not_found("'", path, "' is not a file of this user");
  }
  Mapping out(file, static_cast<size_t>(info.st_size));
  if (out.data() == nullptr) return failed("cannot be mapped", path);
  ::futimens(file.get(), nullptr);
  return out;
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
