#include "host/device/spare_blocks.h"

#include <cstdlib>
#include <new>

#include "core/base/pages.h"
#include "host/base/fork.h"

namespace tenon::runtime {

namespace {
constinit PerProcess<SpareBlocks> g_values, g_copies;

/// Making a pool takes memory, and there may be none.
void give_to(SpareBlocks* pool, SpareBlocks::Free free, void* block, size_t bytes) noexcept {
  if (pool == nullptr) return free(block, bytes);
  pool->give(block, bytes);
}
}  // namespace

SpareBlocks& SpareBlocks::get() { return g_values.get(); }
SpareBlocks& SpareBlocks::of_copies() { return g_copies.get(kMostOfCopies, unmap_pages); }

void SpareBlocks::give_value(void* block, size_t bytes) noexcept {
  give_to(g_values.peek(), to_heap, block, bytes);
}
void SpareBlocks::give_copy(void* block, size_t bytes) noexcept {
  give_to(g_copies.peek(), unmap_pages, block, bytes);
}

void SpareBlocks::to_heap(void* block, size_t) { std::free(block); }

void* SpareBlocks::take(size_t* bytes) {
  if (*bytes < kLeast) return nullptr;
  const std::lock_guard lock(mutex_);
  for (size_t i = blocks_.size(); i-- > 0;) {
    const Block block = blocks_[i];
    if (block.bytes < *bytes || block.bytes - *bytes > *bytes / 8) continue;
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(i));
    bytes_ -= block.bytes;
    *bytes = block.bytes;
    return block.memory;
  }
  return nullptr;
}

void SpareBlocks::give(void* block, size_t bytes) {
  if (bytes >= kLeast && bytes <= most_) {
    const std::lock_guard lock(mutex_);
    while (bytes_ + bytes > most_) {  // sizes that nobody asks for any more go first
      bytes_ -= blocks_.front().bytes;
      free_(blocks_.front().memory, blocks_.front().bytes);
      blocks_.erase(blocks_.begin());
    }
    try {
      blocks_.push_back({block, bytes});
      bytes_ += bytes;
      return;
    } catch (const std::bad_alloc&) {  // then it is freed
    }
  }
  free_(block, bytes);
}

void SpareBlocks::clear() {
  const std::lock_guard lock(mutex_);
  for (const Block& block : blocks_) free_(block.memory, block.bytes);
  blocks_.clear();
  bytes_ = 0;
}

}  // namespace tenon::runtime
