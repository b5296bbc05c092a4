#include "host/device/spare_blocks.h"

#include <cstdlib>
#include <new>

#include "host/base/fork.h"

namespace tenon::runtime {

namespace {
constinit PerProcess<SpareBlocks> g_values;
}  // namespace

SpareBlocks& SpareBlocks::get() { return g_values.get(); }

/// Making a pool takes memory, and there may be none.
void SpareBlocks::give_value(void* block, size_t bytes) noexcept {
  SpareBlocks* const spare = g_values.peek();
  spare != nullptr ? spare->give(block, bytes) : std::free(block);
}

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
  if (bytes >= kLeast && bytes <= kMost) {
    const std::lock_guard lock(mutex_);
    while (bytes_ + bytes > kMost) {  // sizes that nobody asks for any more go first
      bytes_ -= blocks_.front().bytes;
      std::free(blocks_.front().memory);
      blocks_.erase(blocks_.begin());
    }
    try {
      blocks_.push_back({block, bytes});
      bytes_ += bytes;
      return;
    } catch (const std::bad_alloc&) {  // then it is freed
    }
  }
  std::free(block);
}

void SpareBlocks::clear() {
  const std::lock_guard lock(mutex_);
  for (const Block& block : blocks_) std::free(block.memory);
  blocks_.clear();
  bytes_ = 0;
}

}  // namespace tenon::runtime
