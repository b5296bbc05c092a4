#include "host/base/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "host/base/size.h"

namespace tenon {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Status failed(const std::string& path, std::string_view what, int error) {
  if (error == ENOMEM) return out_of_memory("file '", path, "' ", what, ": ", std::strerror(error));
  return invalid_input("file '", path, "' ", what, ": ", std::strerror(error));
}

}  // namespace

// Uses unbuffered stdio: a C++ stream that runs out of memory reports the end of the file.
Result<std::string> read_text_file(const std::string& path, uint64_t limit) {
  std::error_code error;
  std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return invalid_input("file '", path, "' does not exist");
  if (!std::filesystem::is_regular_file(status)) return invalid_input("'", path, "' is not a regular file");
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rb"));
  if (!file) return failed(path, "cannot be opened for reading", errno);
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  constexpr size_t kPiece = 64 << 10;
  std::string text;
  for (size_t got = kPiece; got == kPiece && text.size() <= limit;) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    got = std::fread(text.data() + before, 1, kPiece, file.get());
    text.resize(before + got);
  }
  if (std::ferror(file.get()) != 0) return failed(path, "cannot be read", errno);
  if (text.size() > limit) return invalid_input("file '", path, "' is larger than ", format_size(limit));
  return text;
}

}  // namespace tenon
