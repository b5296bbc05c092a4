#include "pages.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tenon::cpu {
namespace {

constexpr uint64_t kLine = 64;

uint64_t rounded_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

#if defined(__linux__)
constexpr uint64_t kMapped = uint64_t{256} << 10, kHugePage = uint64_t{2} << 20;

void* map(uint64_t bytes) {
  void* out = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (out == MAP_FAILED) throw std::bad_alloc();
  return out;
}

/// A block at a multiple of huge pages. Weights are read from one end to the other: with small pages each piece needs another
/// translation of its address.
void* map_huge(uint64_t bytes) {
  auto* const begin = static_cast<char*>(map(bytes + kHugePage));
  const uint64_t before =
      rounded_up(reinterpret_cast<uintptr_t>(begin), kHugePage) - reinterpret_cast<uintptr_t>(begin);
  if (before != 0) ::munmap(begin, before);
  if (before != kHugePage) ::munmap(begin + before + bytes, kHugePage - before);
  static_cast<void>(::madvise(begin + before, bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
  return begin + before;
}
#endif

}  // namespace

Pages::Pages(uint64_t bytes) {
#if defined(__linux__)
  if (bytes >= kMapped) {
    constexpr uint64_t kPage = 4096;  // the least that systems have; a mapping is rounded up to theirs anyway
    const uint64_t size = rounded_up(bytes, kPage);
    data_ = size >= kHugePage ? map_huge(size) : map(size);
    mapped_ = size;
    return;
  }
#endif
  data_ = std::aligned_alloc(kLine, std::max(kLine, rounded_up(bytes, kLine)));
  if (data_ == nullptr) throw std::bad_alloc();
}

Pages::~Pages() {
#if defined(__linux__)
  if (mapped_ != 0) {
    ::munmap(data_, mapped_);
    return;
  }
#endif
  std::free(data_);
}

}  // namespace tenon::cpu
