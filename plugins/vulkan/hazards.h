// Which work must wait for which.
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::vulkan {

/// Bytes of a buffer on the device.
struct BufferRange {
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0, bytes = 0;
};

/// Bytes that a launch reads or writes.
struct Access {
  BufferRange range;
  bool writes = false;
};

/// Tells which work needs a barrier: what reads or writes bytes that work since the last barrier wrote, or writes bytes
/// that it read.
class Hazards {
 public:
  /// Whether a barrier must come before work with these accesses. Remembers them.
  bool need_barrier(std::span<const Access> accesses);
  void clear() { since_.clear(); }

 private:
  std::vector<Access> since_;
};

}  // namespace tenon::vulkan
