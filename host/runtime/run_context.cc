#include "host/runtime/run_context.h"

#include <cstdlib>

namespace tenon::runtime {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kMostBytes = uint64_t{1} << 46;  // no sum of such sizes overflows

std::byte* aligned(uint64_t bytes) { return static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)); }

}  // namespace

ScratchArena::~ScratchArena() {
  for (std::byte* block : overflow_) std::free(block);
  std::free(block_);
}

void* ScratchArena::allocate(uint64_t bytes) {
  if (bytes > kMostBytes) return nullptr;
  bytes = bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const uint64_t at = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (at + bytes <= capacity_) return block_ + at;
  return allocate_slow(bytes);
}

void* ScratchArena::allocate_slow(uint64_t bytes) {
  Result<MemoryCharge> charge = MemoryCharge::take(budget_, bytes);
  if (!charge.ok()) return nullptr;
  std::byte* block = aligned(bytes);
  if (block == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  overflow_.push_back(block);
  overflow_charges_.push_back(std::move(*charge));
  return block;
}

void ScratchArena::reset_used() {
  const uint64_t used = used_.exchange(0, std::memory_order_relaxed);
  if (overflow_.empty()) return;
  for (std::byte* block : overflow_) std::free(block);
  overflow_.clear();
  overflow_charges_.clear();
  // What one step asked for is what the next round of it will ask for; without memory the old block serves
  // on.
  Result<MemoryCharge> charge = MemoryCharge::take(budget_, used);
  if (!charge.ok()) return;
  if (std::byte* larger = aligned(used)) {
    std::free(block_);
    block_ = larger;
    capacity_ = used;
    charge_ = std::move(*charge);
  }
}

}  // namespace tenon::runtime
