#include "ep-sdk/cts/guarded.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace tenon::cts {
namespace {

uint8_t g_slack = 0xA5;

}  // namespace

void fill_surroundings(uint8_t byte) { g_slack = byte; }

GuardedMemory::GuardedMemory(size_t size, size_t alignment) : size_(size), slack_(g_slack) {
  const size_t page = page_size();
  if (size > SIZE_MAX / 2) throw std::bad_alloc();
  inner_ = (std::max<size_t>(size, 1) + alignment - 1 + page - 1) / page * page;
  pages_ = reserve_pages(inner_ + 2 * page);
  uint8_t* inner = pages_ + page;
  set_access(inner, inner_, Access::kReadWrite);
  std::memset(inner, slack_, inner_);
  data_ = inner + (inner_ - size) / alignment * alignment;
}

GuardedMemory::~GuardedMemory() {
  if (pages_ != nullptr) release_pages(pages_, inner_ + 2 * page_size());
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

void GuardedMemory::protect(Access access) const { set_access(pages_ + page_size(), inner_, access); }

bool GuardedMemory::overrun() const {
  const uint8_t* inner = pages_ + page_size();
  const auto changed = [&](uint8_t byte) { return byte != slack_; };
  return std::any_of(inner, static_cast<const uint8_t*>(data_), changed) ||
         std::any_of(static_cast<const uint8_t*>(data_ + size_), inner + inner_, changed);
}

}  // namespace tenon::cts
