#include "host/device/spare_pages.h"

#include <iterator>
#include <new>

#include "core/base/pages.h"
#include "host/base/fork.h"

namespace tenon::runtime {

namespace {
constinit PerProcess<SparePages> g_pages;
}  // namespace

SparePages& SparePages::get() { return g_pages.get(); }

void SparePages::give_back(void* pages, size_t bytes) noexcept {
  SparePages* const spare = g_pages.peek();
  spare != nullptr ? spare->give(pages, bytes) : unmap_pages(pages, bytes);
}

/// The smallest range of at least `bytes`, or the end.
SparePages::Ranges::iterator SparePages::smallest_of(size_t bytes) {
  auto best = ranges_.end();
  for (auto at = ranges_.begin(); at != ranges_.end(); ++at)
    if (at->second >= bytes && (best == ranges_.end() || at->second < best->second)) best = at;
  return best;
}

void SparePages::drop(Ranges::iterator range) {
  unmap_pages(range->first, range->second);
  bytes_ -= range->second;
  ranges_.erase(range);
}

void* SparePages::take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto range = smallest_of(bytes);
  if (range == ranges_.end()) return nullptr;
  std::byte* const begin = range->first;
  bytes_ -= bytes;
  if (range->second == bytes) {
    ranges_.erase(range);
  } else {  // the node moves, so that no memory is needed
    auto rest = ranges_.extract(range);
    rest.key() += bytes;
    rest.mapped() -= bytes;
    ranges_.insert(std::move(rest));
  }
  return begin;
}

void SparePages::give(void* pages, size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  while (!ranges_.empty() && bytes <= kMost && bytes_ + bytes > kMost) drop(smallest_of(0));
  if (bytes > kMost) return unmap_pages(pages, bytes);
  Ranges::iterator at;
  try {
    at = ranges_.emplace(static_cast<std::byte*>(pages), bytes).first;
  } catch (const std::bad_alloc&) {
    return unmap_pages(pages, bytes);
  }
  bytes_ += bytes;
  if (const auto next = std::next(at); next != ranges_.end() && at->first + at->second == next->first) {
    at->second += next->second;
    ranges_.erase(next);
  }
  if (at == ranges_.begin()) return;
  if (const auto before = std::prev(at); before->first + before->second == at->first) {
    before->second += at->second;
    ranges_.erase(at);
  }
}

void SparePages::clear() {
  const std::lock_guard lock(mutex_);
  while (!ranges_.empty()) drop(ranges_.begin());
}

}  // namespace tenon::runtime
