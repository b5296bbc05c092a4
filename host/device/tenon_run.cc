#include "host/device/tenon_run.h"

#include <new>

namespace tenon::runtime {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kMostBytes = uint64_t{1} << 46;  // sums of a few such sizes do not overflow

}  // namespace

ScratchArena::Block ScratchArena::aligned(uint64_t bytes) {
  return Block(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)));
}

void* ScratchArena::allocate(uint64_t bytes) {
  if (bytes > kMostBytes) return nullptr;
  bytes = bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const uint64_t at = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (at + bytes <= capacity_) return block_.get() + at;
  return allocate_slow(bytes);
}

void* ScratchArena::allocate_slow(uint64_t bytes) try {
  Result<MemoryCharge> charge = MemoryCharge::take(budget_, bytes);
  if (!charge.ok()) return nullptr;
  Block block = aligned(bytes);
  if (block == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  return overflow_.emplace_back(Overflow{std::move(block), std::move(*charge)}).block.get();
} catch (const std::bad_alloc&) {  // from the list of blocks or a message
  return nullptr;
}

void ScratchArena::reset_used() {
  const uint64_t used = used_.exchange(0, std::memory_order_relaxed);
  if (overflow_.empty()) return;
  overflow_.clear();
  // The next round will probably ask for as much. Without memory for it the old block stays.
  Result<MemoryCharge> charge = MemoryCharge::take(budget_, used);
  if (!charge.ok()) return;
  if (Block larger = aligned(used)) {
    block_ = std::move(larger);
    capacity_ = used;
    charge_ = std::move(*charge);
  }
}

}  // namespace tenon::runtime
