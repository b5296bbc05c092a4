#if !defined(_WIN32)

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <new>
#include <span>

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

std::string octal(unsigned mode) {
  std::string digits;
  for (int shift = 9; shift >= 0; shift -= 3) digits += static_cast<char>('0' + (mode >> shift & 7));
  return digits;
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

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The first entry of /etc/passwd or /etc/group for which `fits` is true; `text` holds its strings. Does not use
// the C library's modules for other sources, which end the process when memory runs out.
template <class Entry, class Read, class Fits>
bool find_entry(const char* path, Read read, std::span<char> text, Entry& entry, Fits fits) {
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path, "rce"));
  if (file == nullptr && errno == ENOMEM) throw std::bad_alloc();  // says nothing about the user
  if (file == nullptr) return false;
  char buffer[4096];
  std::setvbuf(file.get(), buffer, _IOFBF, sizeof buffer);
  Entry* found = nullptr;
  while (read(file.get(), &entry, text.data(), text.size(), &found) == 0) {
    if (fits(entry)) return true;
  }
  return false;
}

bool find_user(uint32_t number, std::span<char> text, passwd& user) {
  if (find_entry("/etc/passwd", fgetpwent_r, text, user,
                 [&](const passwd& one) { return one.pw_uid == number; }))
    return true;
  passwd* found = nullptr;
  const int error = getpwuid_r(number, &user, text.data(), text.size(), &found);
  if (error == ENOMEM) throw std::bad_alloc();
  return error == 0 && found != nullptr;
}

bool find_group(uint32_t number, std::span<char> text, ::group& group) {
  if (find_entry("/etc/group", fgetgrent_r, text, group,
                 [&](const ::group& one) { return one.gr_gid == number; }))
    return true;
  ::group* found = nullptr;
  const int error = getgrgid_r(number, &group, text.data(), text.size(), &found);
  if (error == ENOMEM) throw std::bad_alloc();
  return error == 0 && found != nullptr;
}

}  // namespace

bool is_private_group(uint32_t user_number, uint32_t group_number) {
  char user_text[4096], group_text[16384];
  passwd user;
  ::group group;
  if (!find_user(user_number, user_text, user) || user.pw_gid != group_number) return false;
  if (!find_group(group_number, group_text, group)) return false;
  if (std::strcmp(group.gr_name, user.pw_name) != 0) return false;
  for (char** member = group.gr_mem; *member != nullptr; ++member) {
    if (std::strcmp(*member, user.pw_name) != 0) return false;
  }
  return true;
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
  const uint32_t trusted = owner_of_libtenon(path);
  std::filesystem::path part(path);
  bool is_file = true;
  while (true) {
    struct stat status;
    if (::stat(part.c_str(), &status) != 0) {
      return refuse(Refusal::kFileMode,
                    str_cat("'", part.string(), "' cannot be examined: ", std::strerror(errno)));
    }
    if (status.st_uid != 0 && status.st_uid != ::geteuid() && status.st_uid != trusted) {
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
