#include <sys/mman.h>

#include "core/base/pages.h"

namespace tenon {

void* map_pages(size_t bytes) {
  void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

void unmap_pages(void* pages, size_t bytes) { ::munmap(pages, bytes); }

}  // namespace tenon
