#if !defined(_WIN32)

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

#include "host/provider/open_file.h"
#include "host/provider/refusal.h"

namespace tenon::provider {
namespace {

FileIdentity identity_from(const struct stat& status) {
  auto nanoseconds = [](const struct timespec& time) {
    return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
  };
  return {static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino),
          static_cast<uint64_t>(status.st_size), nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

std::string octal(unsigned mode) {
  std::string digits;
  for (int shift = 9; shift >= 0; shift -= 3) digits += static_cast<char>('0' + (mode >> shift & 7));
  return digits;
}

}  // namespace

Result<std::unique_ptr<OpenFile>> OpenFile::open(const std::string& path) {
  std::unique_ptr<OpenFile> file(new OpenFile());  // before the descriptor, which it closes
  file->path_ = path;
  // Without O_NONBLOCK a pipe in the file's place would block.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return invalid_input("'", path, "' cannot be opened: ", std::strerror(errno));
  file->handle_ = descriptor;
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    return invalid_input("'", path, "' cannot be examined: ", std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return invalid_input("'", path, "' is no regular file");
  file->identity_ = identity_from(status);
  return file;
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

bool is_private_group(uint32_t user, uint32_t group) {
  char user_text[4096], group_text[16384];
  passwd user_entry, *found_user = nullptr;
  ::group group_entry, *found_group = nullptr;
  int error = getpwuid_r(user, &user_entry, user_text, sizeof user_text, &found_user);
  if (error == ENOMEM) throw std::bad_alloc();  // says nothing of the group
  if (error != 0 || found_user == nullptr) return false;
  if (found_user->pw_gid != group) return false;
  error = getgrgid_r(group, &group_entry, group_text, sizeof group_text, &found_group);
  if (error == ENOMEM) throw std::bad_alloc();
  if (error != 0) return false;
  if (found_group == nullptr || std::strcmp(found_group->gr_name, found_user->pw_name) != 0) return false;
  for (char** member = found_group->gr_mem; *member != nullptr; ++member) {
    if (std::strcmp(*member, found_user->pw_name) != 0) return false;
  }
  return true;
}

Status check_writers(const std::string& path) {
  std::filesystem::path part(path);
  bool is_file = true;
  while (true) {
    struct stat status;
    if (::stat(part.c_str(), &status) != 0) {
      return refuse(Refusal::kFileMode,
                    str_cat("'", part.string(), "' cannot be examined: ", std::strerror(errno)));
    }
    if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
      return refuse(Refusal::kFileMode, str_cat("'", part.string(), "' belongs to user ", status.st_uid));
    }
    bool sticky_folder = !is_file && (status.st_mode & S_ISVTX) != 0;
    bool by_group = (status.st_mode & S_IWGRP) != 0 && !is_private_group(status.st_uid, status.st_gid);
    if ((by_group || (status.st_mode & S_IWOTH) != 0) && !sticky_folder) {
      return refuse(Refusal::kFileMode, str_cat("'", part.string(), "' is writable by others (mode ",
                                                octal(status.st_mode & 07777), ")"));
    }
    if (part == part.parent_path()) return ok_status();
    part = part.parent_path();
    is_file = false;
  }
}

}  // namespace tenon::provider

#endif
