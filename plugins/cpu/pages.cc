#include "pages.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tenon::cpu {
namespace {

constexpr uint64_t kLine = 64, kHugePage = uint64_t{2} << 20;

uint64_t rounded_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

void* allocate_pages(uint64_t bytes) {
  // The last huge page of a block is filled by half at least.
  const bool huge = bytes >= kHugePage && bytes % kHugePage >= kHugePage / 2;
  const bool many = bytes >= 8 * kHugePage;
  const uint64_t unit = huge || many ? kHugePage : kLine;
  void* memory = std::aligned_alloc(unit, std::max(unit, rounded_up(bytes, unit)));
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // Weights are read from one end to the other: with small pages each piece needs another translation of its address.
  if (unit == kHugePage) static_cast<void>(madvise(memory, rounded_up(bytes, unit), MADV_HUGEPAGE));
#endif
  return memory;
}

void free_pages(void* memory) { std::free(memory); }

}  // namespace tenon::cpu
