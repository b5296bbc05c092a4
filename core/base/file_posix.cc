#if !defined(_WIN32)

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "core/base/file.h"
#include "core/base/status.h"

namespace tenon {
namespace {

std::error_code last_error() { return {errno, std::generic_category()}; }

bool write_all(const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put == 0) errno = EIO;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

/// Creates a new file beside `path`. Tries the next name when one is taken: by a process with the same id in
/// another container, or by one that crashed.
int open_beside(const std::string& path, bool is_private, std::string* name) {
  static std::atomic<uint32_t> count{0};
  constexpr int kAttempts = 1000;
  int number = -1;
  for (int i = 0; i < kAttempts && number < 0; ++i) {
    *name = str_cat(path, ".", static_cast<int64_t>(::getpid()), ".", count.fetch_add(1), ".part");
    number = ::open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_private ? 0600 : 0666);
    if (number < 0 && errno != EEXIST) break;
  }
  return number;
}

}  // namespace

Descriptor::~Descriptor() {
  if (ok()) ::close(number_);
}

Mapping::Mapping(const Descriptor& file, size_t size) {
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) return;
  data_ = static_cast<const std::byte*>(address);
  size_ = size;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void release_pages(std::span<const std::byte> mapped) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(mapped.data());
  const uintptr_t begin = (address + page - 1) / page * page, end = (address + mapped.size()) / page * page;
  if (begin >= end) return;
  ::madvise(const_cast<std::byte*>(mapped.data()) + (begin - address), end - begin, MADV_DONTNEED);
}

std::error_code write_file(const std::string& path, std::span<const std::string_view> pieces,
                           WriteOptions options) {
  std::string beside;
  const Descriptor file(open_beside(path, options.is_private, &beside));
  if (!file.ok()) return last_error();
  bool written = true;
  for (const std::string_view piece : pieces) written = written && write_all(file, piece);
  written = written && (!options.durable || ::fsync(file.get()) == 0) &&
            std::rename(beside.c_str(), path.c_str()) == 0;
  if (written) return {};
  const std::error_code error = last_error();
  ::unlink(beside.c_str());
  return error;
}

std::error_code write_file(const std::string& path, std::string_view text, WriteOptions options) {
  return write_file(path, std::span(&text, 1), options);
}

}  // namespace tenon

#endif
