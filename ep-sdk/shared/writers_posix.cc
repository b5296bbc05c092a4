#if !defined(_WIN32)

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <span>

#include "ep-sdk/shared/writers.h"

namespace tenon::shared {
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

std::string octal(unsigned mode) {
  std::string digits;
  for (int shift = 9; shift >= 0; shift -= 3) digits += static_cast<char>('0' + (mode >> shift & 7));
  return digits;
}

}  // namespace

std::string other_writer(const std::string& path, uint32_t trusted) {
  std::filesystem::path part(path);
  bool is_file = true;
  while (true) {
    const std::string name = "'" + part.string() + "' ";
    struct stat status;
    if (::stat(part.c_str(), &status) != 0) return name + "cannot be examined: " + std::strerror(errno);
    if (status.st_uid != 0 && status.st_uid != ::geteuid() && status.st_uid != trusted)
      return name + "belongs to user " + std::to_string(status.st_uid);
    const bool sticky_folder = !is_file && (status.st_mode & S_ISVTX) != 0;
    const bool by_group = (status.st_mode & S_IWGRP) != 0 && !is_private_group(status.st_uid, status.st_gid);
    if ((by_group || (status.st_mode & S_IWOTH) != 0) && !sticky_folder)
      return name + "is writable by others (mode " + octal(status.st_mode & 07777) + ")";
    if (part == part.parent_path()) return {};
    part = part.parent_path();
    is_file = false;
  }
}

}  // namespace tenon::shared

#endif
