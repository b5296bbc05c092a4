// Memory of a device: blocks of one memory type, and pieces of them.
//
// Drivers allow few allocations (4096 where they allow the fewest), and each takes long. So memory comes in blocks with one
// buffer each, and tensors are pieces of blocks.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "holes.h"
#include "tenon/ep.hpp"
#include "vk.h"

namespace tenon::vulkan {

/// One allocation of the driver with one buffer over all of it. `address`: where the host sees it, or null.
struct Block {
  MemoryHandle memory;
  BufferHandle buffer;
  char* address = nullptr;
  bool is_shared = false;  // has room for several pieces
  Holes holes{0};
};

/// A part of a block.
struct Piece {
  Block* block = nullptr;
  uint64_t offset = 0, bytes = 0;

  explicit operator bool() const { return block != nullptr; }
  VkBuffer buffer() const { return block->buffer.get(); }
  /// Null if the host does not see the memory.
  char* address() const { return block->address == nullptr ? nullptr : block->address + offset; }
};

/// Memory of one type. Thread-safe.
class MemoryPool {
 public:
  /// `maps`: the host sees the memory, which is coherent. `alignment`: of all pieces, a power of two.
  MemoryPool(VkDevice device, uint32_t type, bool maps, uint64_t alignment, uint64_t largest)
      : device_(device), type_(type), maps_(maps), alignment_(alignment), largest_(largest) {}

  /// Throws RESOURCE_EXHAUSTED. `bytes` may be 0.
  Piece allocate(uint64_t bytes);
  void free(const Piece& piece);
  /// Gives unused blocks back to the driver.
  void trim();
  bool maps() const { return maps_; }
  uint64_t alignment() const { return alignment_; }

 private:
  std::unique_ptr<Block> make_block(uint64_t bytes) const;

  const VkDevice device_;
  const uint32_t type_;
  const bool maps_;
  const uint64_t alignment_, largest_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

/// Owns a piece.
class OwnedPiece {
 public:
  OwnedPiece() = default;
  OwnedPiece(MemoryPool& pool, uint64_t bytes) : pool_(&pool), piece_(pool.allocate(bytes)) {}
  OwnedPiece(OwnedPiece&& other) noexcept : pool_(other.pool_), piece_(std::exchange(other.piece_, {})) {}
  OwnedPiece& operator=(OwnedPiece&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(piece_, other.piece_);
    return *this;
  }
  ~OwnedPiece() {
    if (piece_) pool_->free(piece_);
  }
  const Piece& get() const { return piece_; }
  explicit operator bool() const { return static_cast<bool>(piece_); }

 private:
  MemoryPool* pool_ = nullptr;
  Piece piece_;
};

inline constexpr uint32_t kDeviceDomain = 1;
inline constexpr uint32_t kStagingDomain = 2;

/// What the host's tenon_buffer is.
struct Buffer {
  OwnedPiece piece;
};
inline tenon_buffer* to_border(Buffer* buffer) { return reinterpret_cast<tenon_buffer*>(buffer); }
inline Buffer* from_border(tenon_buffer* buffer) { return reinterpret_cast<Buffer*>(buffer); }

}  // namespace tenon::vulkan
