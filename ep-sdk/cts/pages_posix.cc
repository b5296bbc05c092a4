#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "ep-sdk/cts/pages.h"

namespace tenon::cts {

size_t page_size() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

uint8_t* reserve_pages(size_t size) {
  void* address = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  return static_cast<uint8_t*>(address);
}

void set_access(uint8_t* pages, size_t size, Access access) {
  const int protection = access == Access::kNone   ? PROT_NONE
                         : access == Access::kRead ? PROT_READ
                                                   : PROT_READ | PROT_WRITE;
  if (mprotect(pages, size, protection) != 0)
    throw std::system_error(errno, std::generic_category(), "the access to memory cannot be changed");
}

void release_pages(uint8_t* pages, size_t size) noexcept { munmap(pages, size); }

}  // namespace tenon::cts
