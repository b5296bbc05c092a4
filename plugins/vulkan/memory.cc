#include "memory.h"

#include <algorithm>

namespace tenon::vulkan {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{64} << 20;
// Larger requests get a block of their own, so that freeing them gives the memory back.
constexpr uint64_t kLargestShared = kBlockBytes / 4;

constexpr VkBufferUsageFlags kUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                      VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;

}  // namespace

std::unique_ptr<Block> MemoryPool::make_block(uint64_t bytes) const {
  auto out = std::make_unique<Block>();
  auto create = make_struct<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  create.size = bytes;
  create.usage = kUsage;
  create.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  VkBuffer buffer = VK_NULL_HANDLE;
  check(vkCreateBuffer(device_, &create, nullptr, &buffer), "vkCreateBuffer");
  out->buffer = BufferHandle(device_, buffer);
  VkMemoryRequirements needs{};
  vkGetBufferMemoryRequirements(device_, buffer, &needs);
  ep::require((needs.memoryTypeBits >> type_ & 1) != 0, TENON_INTERNAL,
              "the driver stores no buffer in memory type ", type_);
  auto allocate = make_struct<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = type_;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  check(vkAllocateMemory(device_, &allocate, nullptr, &memory),
        ep::cat("vkAllocateMemory of ", bytes, " bytes"));
  out->memory = MemoryHandle(device_, memory);
  check(vkBindBufferMemory(device_, buffer, memory, 0), "vkBindBufferMemory");
  if (maps_) {
    void* address = nullptr;  // mapped until the memory is freed
    check(vkMapMemory(device_, memory, 0, VK_WHOLE_SIZE, 0, &address), "vkMapMemory");
    out->address = static_cast<char*>(address);
  }
  out->bytes = bytes;
  out->free.emplace(0, bytes);
  return out;
}

/// The smallest hole that is large enough, so that large holes stay whole.
std::optional<Piece> MemoryPool::take(Block& block, uint64_t bytes) {
  auto best = block.free.end();
  for (auto hole = block.free.begin(); hole != block.free.end(); ++hole) {
    if (hole->second >= bytes && (best == block.free.end() || hole->second < best->second)) best = hole;
  }
  if (best == block.free.end()) return std::nullopt;
  const Piece out{&block, best->first, bytes};
  const uint64_t left = best->second - bytes;
  block.free.erase(best);
  if (left != 0) block.free.emplace(out.offset + bytes, left);
  return out;
}

Piece MemoryPool::allocate(uint64_t bytes) {
  ep::require(bytes <= largest_, TENON_RESOURCE_EXHAUSTED, "a buffer of ", bytes,
              " bytes exceeds the device's limit of ", largest_);
  const uint64_t size = (std::max<uint64_t>(bytes, 1) + alignment_ - 1) / alignment_ * alignment_;
  const std::lock_guard lock(mutex_);
  const bool shares = size <= kLargestShared;
  for (const std::unique_ptr<Block>& block : blocks_) {
    // Requests with blocks of their own do not fill holes of shared blocks, and the other way round.
    if ((block->bytes == kBlockBytes) != shares) continue;
    if (const std::optional<Piece> piece = take(*block, size)) return *piece;
  }
  blocks_.push_back(make_block(shares ? kBlockBytes : size));
  return *take(*blocks_.back(), size);
}

void MemoryPool::free(const Piece& piece) {
  const std::lock_guard lock(mutex_);
  auto& holes = piece.block->free;
  auto hole = holes.emplace(piece.offset, piece.bytes).first;
  if (const auto next = std::next(hole); next != holes.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    holes.erase(next);
  }
  if (hole != holes.begin()) {
    if (const auto before = std::prev(hole); before->first + before->second == hole->first) {
      before->second += hole->second;
      holes.erase(hole);
    }
  }
  if (piece.block->bytes != kBlockBytes)
    std::erase_if(blocks_, [&](const std::unique_ptr<Block>& block) { return block.get() == piece.block; });
}

void MemoryPool::trim() {
  const std::lock_guard lock(mutex_);
  std::erase_if(blocks_, [](const std::unique_ptr<Block>& block) {
    return block->free.size() == 1 && block->free.begin()->second == block->bytes;
  });
}

}  // namespace tenon::vulkan
