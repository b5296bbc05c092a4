#include <sys/mman.h>

#include "core/base/pages.h"

namespace tenon {

Pages::Pages(size_t size) : size_(size) {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) data_ = static_cast<std::byte*>(memory);
}

Pages::~Pages() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace tenon
