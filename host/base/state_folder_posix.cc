#if !defined(_WIN32)

#include "host/base/state_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/base/file.h"
#include "host/base/environment.h"
#include "host/base/folder.h"
#include "host/base/out_of_memory.h"

namespace tenon {
namespace {

bool make_folders(const std::filesystem::path& folder) {
  if (folder.empty() || ::access(folder.c_str(), F_OK) == 0) return true;
  return make_folders(folder.parent_path()) && (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST);
}

}  // namespace

std::optional<std::string> state_folder() {
  std::optional<std::string> home = user_directory("STATE", ".local/state");
  if (!home) return std::nullopt;
  return *home + "/tenon";
}

Status write_atomically(const std::string& path, std::string_view text) {
  auto failed = [&](std::string_view what, const std::string& why) {
    return Status(StatusCode::kUnavailable, str_cat("'", path, "': ", what, ": ", why));
  };
  if (!make_folders(std::filesystem::path(path).parent_path()))
    return failed("its folder cannot be made", std::strerror(errno));
  const std::error_code error = write_file(path, text, {.is_private = true, .durable = false});
  return error ? failed("cannot be written", error.message()) : ok_status();
}

std::vector<std::string> files_in(const std::string& folder, std::string_view suffix) {
  Result<std::vector<std::string>> names = list_folder(folder, suffix);
  throw_if_out_of_memory(names.status());
  return std::move(names).value_or(std::vector<std::string>());
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return ok_status();
  const int error = errno;
  if (error == ENOENT) return not_found("'", path, "' does not exist");
  return invalid_input("'", path, "' cannot be removed: ", std::strerror(error));
}

}  // namespace tenon

#endif
