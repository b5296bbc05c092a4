#include "core/onnx/mapped_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <system_error>

#include "core/base/quote.h"

namespace tenon::onnx {

Status system_failure(std::string_view action, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  return Status(missing ? StatusCode::kNotFound : StatusCode::kInvalidArgument,
                str_cat(action, ": ", std::generic_category().message(error)), ErrorKind::kInvalidInput);
}

namespace {

Status check_regular(const struct stat& info) {
  if (S_ISREG(info.st_mode)) return ok_status();
  const char* kind = S_ISDIR(info.st_mode)    ? "a directory"
                     : S_ISFIFO(info.st_mode) ? "a pipe"
                     : S_ISSOCK(info.st_mode) ? "a socket"
                                              : "a device";
  return invalid_input("this is ", kind, ", not a regular file");
}

/// The opened file must lie there: its real path is resolved and must name the same file.
Status check_beneath(const std::string& path, const struct stat& opened,
                     const std::vector<std::string>& directories) {
  std::string real = real_path(path);
  struct stat info {};
  if (real.empty() || ::stat(real.c_str(), &info) != 0) return system_failure("cannot resolve", errno);
  bool same_file = info.st_dev == opened.st_dev && info.st_ino == opened.st_ino;
  for (const std::string& directory : directories) {
    std::string prefix = directory == "/" ? directory : directory + "/";
    if (same_file && !directory.empty() && real.compare(0, prefix.size(), prefix) == 0) return ok_status();
  }
  return invalid_input(
      "the path leads to a file outside of the model's directory; put the file beside the model");
}

Status read_all(int fd, std::byte* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = ::pread(fd, to + done, size - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure("cannot read", errno);
    if (got == 0) return invalid_input("the file became shorter while it was read");
    done += static_cast<size_t>(got);
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path, const Options& options) {
  // Opening a device can have side effects, and opening a pipe waits for a writer. So check before opening, and
  // check again what was opened.
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return system_failure("cannot open", errno);
  RETURN_IF_ERROR(check_regular(info));
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.ok()) return system_failure("cannot open", errno);
  if (::fstat(fd.get(), &info) != 0) return system_failure("cannot look at", errno);
  RETURN_IF_ERROR(check_regular(info));
  if (!options.beneath.empty()) RETURN_IF_ERROR(check_beneath(path, info, options.beneath));
  if (info.st_size > options.limit_bytes) {
    return limit_exceeded("the file has ", info.st_size, " bytes, but only ", options.limit_bytes,
                          " remain of limits.model_bytes; raise the limit for a trusted model");
  }

  std::shared_ptr<MappedFile> file(new MappedFile());
  file->size_ = static_cast<size_t>(info.st_size);
  file->identity_.path = path;
  file->identity_.device = info.st_dev;
  file->identity_.inode = info.st_ino;
  file->identity_.mtime_ns = static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000u +
                             static_cast<uint64_t>(info.st_mtim.tv_nsec);
  file->identity_.file_size = file->size_;
  if (file->size_ == 0) return std::shared_ptr<const MappedFile>(std::move(file));
  if (options.map) {
    file->mapping_ = Mapping(fd, file->size_);
    file->data_ = file->mapping_.data();
    if (file->data_ == nullptr) return system_failure("cannot map", errno);
  } else {
    file->copy_.reset(new std::byte[file->size_]);
    RETURN_IF_ERROR(read_all(fd.get(), file->copy_.get(), file->size_));
    file->data_ = file->copy_.get();
  }
  return std::shared_ptr<const MappedFile>(std::move(file));
}

std::shared_ptr<const MappedFile> MappedFile::borrow(const std::byte* data, size_t size) {
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->data_ = data;
  file->size_ = size;
  return file;
}

ir::FileSpan MappedFile::span(uint64_t offset) const {
  ir::FileSpan span = identity_;
  span.offset = offset;
  return span;
}

std::string directory_of(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string real_path(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  std::string text = resolved ? resolved : "";
  std::free(resolved);
  return text;
}

}  // namespace tenon::onnx
