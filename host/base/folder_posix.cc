#if !defined(_WIN32)

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "host/base/folder.h"

namespace tenon {
namespace {

struct Closer {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

Status failed(const std::string& folder, int error) {
  if (error == ENOMEM) return out_of_memory("folder '", folder, "' cannot be read: ", std::strerror(error));
  return Status(StatusCode::kUnavailable,
                str_cat("folder '", folder, "' cannot be read: ", std::strerror(error)));
}

bool is_file(DIR* folder, const dirent& entry) {
  if (entry.d_type == DT_REG) return true;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return false;
  struct stat info {};
  return ::fstatat(::dirfd(folder), entry.d_name, &info, 0) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

Result<std::vector<std::string>> list_folder(const std::string& folder, std::string_view suffix) {
  const std::unique_ptr<DIR, Closer> open(::opendir(folder.c_str()));
  if (open == nullptr) return failed(folder, errno);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    const bool wanted = name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
    if (wanted && is_file(open.get(), *entry)) names.emplace_back(name);
  }
  if (errno != 0) return failed(folder, errno);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tenon

#endif
