#include "pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tenon/ep.hpp"

namespace accelerator {

using tenon::ep::require;

namespace {

uint64_t page() {
  static const auto size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

uint64_t Pages::rounded(uint64_t bytes) {
  return (std::max<uint64_t>(bytes, 1) + page() - 1) / page() * page();
}

Pages::Pages(uint64_t bytes) {
  require(bytes < UINT64_MAX / 2, TENON_RESOURCE_EXHAUSTED, "no memory for ", bytes, " bytes");
  const uint64_t size = rounded(bytes);
  void* mapped =
      ::mmap(nullptr, size + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(mapped != MAP_FAILED, TENON_RESOURCE_EXHAUSTED, "no memory for ", bytes, " bytes");
  begin_ = static_cast<std::byte*>(mapped) + page();
  size_ = size;
}

Pages::~Pages() {
  if (begin_ != nullptr) ::munmap(begin_ - page(), size_ + 2 * page());
}

Pages::Pages(Pages&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  return *this;
}

bool Pages::protect(int access) const noexcept { return ::mprotect(begin_, size_, access) == 0; }

}  // namespace accelerator
