#include "memory.h"

#include <algorithm>

namespace tenon::vulkan {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{64} << 20;
// Larger requests get a block of their own, so that freeing them gives the memory back.
constexpr uint64_t kLargestShared = kBlockBytes / 4;

constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
    VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;

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
  out->holes = Holes(bytes);
  return out;
}

Piece MemoryPool::allocate(uint64_t bytes) {
  ep::require(bytes <= largest_, TENON_RESOURCE_EXHAUSTED, "a buffer of ", bytes,
              " bytes exceeds the device's limit of ", largest_);
  const uint64_t size = (std::max<uint64_t>(bytes, 1) + alignment_ - 1) / alignment_ * alignment_;
  const std::lock_guard lock(mutex_);
  const bool is_shared = size <= kLargestShared;
  for (const std::unique_ptr<Block>& block : blocks_) {
    if (!is_shared || !block->is_shared) continue;
    if (const std::optional<uint64_t> offset = block->holes.take(size)) return {block.get(), *offset, size};
  }
  Block& made = *blocks_.emplace_back(make_block(is_shared ? kBlockBytes : size));
  made.is_shared = is_shared;
  return {&made, *made.holes.take(size), size};
}

void MemoryPool::free(const Piece& piece) {
  const std::lock_guard lock(mutex_);
  piece.block->holes.give(piece.offset, piece.bytes);
  if (!piece.block->is_shared)
    std::erase_if(blocks_, [&](const std::unique_ptr<Block>& block) { return block.get() == piece.block; });
}

void MemoryPool::trim() {
  const std::lock_guard lock(mutex_);
  std::erase_if(blocks_, [](const std::unique_ptr<Block>& block) { return block->holes.is_all_free(); });
}

}  // namespace tenon::vulkan
