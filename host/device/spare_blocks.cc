#include "host/device/spare_blocks.h"

#include <cstdlib>
#include <new>

#include "core/base/pages.h"
#include "host/base/fork.h"

namespace tenon::runtime {

SpareBlocks& SpareBlocks::get() {
  static constinit PerProcess<SpareBlocks> blocks;
  return blocks.get();
}

SpareBlocks& SpareBlocks::of_copies() {
  static constinit PerProcess<SpareBlocks> blocks;
  return blocks.get(kMostOfCopies, unmap_pages);
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
