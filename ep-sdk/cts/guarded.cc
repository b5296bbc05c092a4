#include "ep-sdk/cts/guarded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace tenon::cts {
namespace {

uint8_t g_slack = 0xA5;

size_t page_size() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

void fill_surroundings(uint8_t byte) { g_slack = byte; }

GuardedMemory::GuardedMemory(size_t size, size_t alignment) : size_(size), slack_(g_slack) {
  const size_t page = page_size();
  if (size > SIZE_MAX / 2) throw std::bad_alloc();
  inner_ = (std::max<size_t>(size, 1) + alignment - 1 + page - 1) / page * page;
  void* address = mmap(nullptr, inner_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  pages_ = static_cast<uint8_t*>(address);
  uint8_t* inner = pages_ + page;
  mprotect(inner, inner_, PROT_READ | PROT_WRITE);
  std::memset(inner, slack_, inner_);
  data_ = inner + (inner_ - size) / alignment * alignment;
}

GuardedMemory::~GuardedMemory() {
  if (pages_ != nullptr) munmap(pages_, inner_ + 2 * page_size());
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept { *this = std::move(other); }

GuardedMemory& GuardedMemory::operator=(GuardedMemory&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(inner_, other.inner_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(slack_, other.slack_);
  return *this;
}

void GuardedMemory::protect(int protection) const { mprotect(pages_ + page_size(), inner_, protection); }

bool GuardedMemory::overrun() const {
  const uint8_t* inner = pages_ + page_size();
  const auto changed = [&](uint8_t byte) { return byte != slack_; };
  return std::any_of(inner, static_cast<const uint8_t*>(data_), changed) ||
         std::any_of(static_cast<const uint8_t*>(data_ + size_), inner + inner_, changed);
}

}  // namespace tenon::cts
