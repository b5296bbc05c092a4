// The free parts of a block of memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace tenon::vulkan {

/// Not thread-safe. Offsets and sizes in bytes.
class Holes {
 public:
  /// All of it is free.
  explicit Holes(uint64_t bytes) : bytes_(bytes), free_{{0, bytes}} {}

  /// The offset of `bytes` > 0 that are no longer free; nothing if no hole is large enough. Takes the smallest hole that is, so that
  /// large holes stay whole.
  std::optional<uint64_t> take(uint64_t bytes);
  /// Gives back what take() gave. Neighbouring holes become one.
  void give(uint64_t offset, uint64_t bytes);
  bool is_all_free() const { return free_.size() == 1 && free_.begin()->second == bytes_; }

 private:
  uint64_t bytes_;
  std::map<uint64_t, uint64_t> free_;  // bytes by offset
};

}  // namespace tenon::vulkan
