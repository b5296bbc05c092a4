#include <cstring>
#include <fstream>
#include <system_error>

#include "host/config/config.h"
#include "host/config/read.h"

#include <filesystem>

namespace tenon::config {

Result<std::string> read_text_file(const std::string& path, uint64_t limit) {
  std::error_code error;
  std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return invalid_input("file '", path, "' does not exist");
  if (!std::filesystem::is_regular_file(status)) return invalid_input("'", path, "' is no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return invalid_input("file '", path, "' cannot be opened for reading: ", std::strerror(errno));
  std::string text(static_cast<size_t>(limit) + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return invalid_input("file '", path, "' cannot be read");
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > limit) return invalid_input("file '", path, "' is larger than ", format_size(limit));
  return text;
}

}  // namespace tenon::config
