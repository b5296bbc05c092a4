// Memory of freed values for the next ones. Applications that let Tenon make the outputs ask for the same sizes in each Run, and
// fresh pages of the system cost more time than most kernels need to fill them.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace tenon::runtime {

/// Thread-safe.
class SpareBlocks {
 public:
  /// Smaller blocks are left to the heap, which keeps them itself.
  static constexpr size_t kLeast = size_t{128} << 10;
  /// Bytes that are kept at most.
  static constexpr size_t kMost = size_t{64} << 20;

  /// Those of the process.
  static SpareBlocks& get();
  /// Gives a block to those of the process, or frees it where there are none yet. Never fails: values go by it.
  static void give_value(void* block, size_t bytes) noexcept;

  SpareBlocks() = default;
  ~SpareBlocks() { clear(); }
  SpareBlocks(const SpareBlocks&) = delete;
  SpareBlocks& operator=(const SpareBlocks&) = delete;

  /// A block of at least `*bytes` and at most an eighth more, 64-byte aligned; sets `*bytes` to its size. Null if
  /// there is none.
  void* take(size_t* bytes);
  /// Keeps the block, or frees it where it is too small or too many are kept.
  void give(void* block, size_t bytes);
  /// Frees all that is kept.
  void clear();

 private:
  struct Block {
    void* memory;
    size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Block> blocks_;  // the oldest first
  size_t bytes_ = 0;
};

}  // namespace tenon::runtime
