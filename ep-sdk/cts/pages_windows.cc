#include "ep-sdk/cts/pages.h"
#include "ep-sdk/cts/windows.h"

#include <new>

namespace tenon::cts {

size_t page_size() {
  static const size_t size = [] {
    SYSTEM_INFO info{};
    GetSystemInfo(&info);
    return static_cast<size_t>(info.dwPageSize);
  }();
  return size;
}

uint8_t* reserve_pages(size_t size) {
  void* address = VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_NOACCESS);
  if (address == nullptr) throw std::bad_alloc();
  return static_cast<uint8_t*>(address);
}

void set_access(uint8_t* pages, size_t size, Access access) {
  const DWORD protection = access == Access::kNone   ? PAGE_NOACCESS
                           : access == Access::kRead ? PAGE_READONLY
                                                     : PAGE_READWRITE;
  DWORD before = 0;
  if (!VirtualProtect(pages, size, protection, &before))
    throw last_error("the access to memory cannot be changed");
}

void release_pages(uint8_t* pages, size_t) noexcept { VirtualFree(pages, 0, MEM_RELEASE); }

}  // namespace tenon::cts
