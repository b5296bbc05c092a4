#if !defined(_WIN32)

#include "host/base/state_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "host/base/environment.h"
#include "host/base/folder.h"
#include "host/base/out_of_memory.h"

namespace tenon {
namespace {

bool make_folders(const std::filesystem::path& folder) {
  if (folder.empty() || ::access(folder.c_str(), F_OK) == 0) return true;
  return make_folders(folder.parent_path()) && (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST);
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

std::optional<std::string> state_folder() {
  std::optional<std::string> home = user_directory("STATE", ".local/state");
  if (!home) return std::nullopt;
  return *home + "/tenon";
}

Status write_atomically(const std::string& path, std::string_view text) {
  auto failed = [&](std::string_view what) {
    return Status(StatusCode::kUnavailable, str_cat("'", path, "': ", what, ": ", std::strerror(errno)));
  };
  if (!make_folders(std::filesystem::path(path).parent_path())) return failed("its folder cannot be made");
  std::string temporary = path + ".XXXXXX";
  int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);  // mode 0600
  if (descriptor < 0) return failed("cannot be written");
  bool written = write_all(descriptor, text);
  written = ::close(descriptor) == 0 && written;
  if (written && ::rename(temporary.c_str(), path.c_str()) == 0) return ok_status();
  Status status = failed("cannot be written");
  ::unlink(temporary.c_str());
  return status;
}

std::vector<std::string> files_in(const std::string& folder, std::string_view suffix) {
  Result<std::vector<std::string>> names = list_folder(folder, suffix);
  throw_if_out_of_memory(names.status());
  return std::move(names).value_or(std::vector<std::string>());
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return ok_status();
  return not_found("'", path, "': ", std::strerror(errno));
}

}  // namespace tenon

#endif
