#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "core/base/pages.h"

namespace tenon {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

char* map(size_t bytes) {
  void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<char*>(pages);
}

}  // namespace

void* map_pages(size_t bytes) {
  if (bytes < kHugePage || bytes > SIZE_MAX - kHugePage) return map(bytes);
  // From a multiple of huge pages on: the system then needs few steps to fill the block.
  char* const begin = map(bytes + kHugePage);
  if (begin == nullptr) return nullptr;
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before != 0) ::munmap(begin, before);
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t used = (bytes + page - 1) / page * page;
  const size_t behind = bytes + kHugePage > before + used ? bytes + kHugePage - before - used : 0;
  if (behind != 0) ::munmap(begin + before + used, behind);
  ::madvise(begin + before, used, MADV_HUGEPAGE);
  return begin + before;
}

void unmap_pages(void* pages, size_t bytes) { ::munmap(pages, bytes); }

}  // namespace tenon
