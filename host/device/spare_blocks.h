// Memory of freed values, and of copies of constants, for the next ones. Applications that let Tenon make the outputs ask for the same sizes in each Run.
// Fresh pages of the system cost more time than most kernels need to fill them.
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
  /// Bytes that are kept at most: of values, and of copies of constants.
  static constexpr size_t kMost = size_t{64} << 20, kMostOfCopies = size_t{4} << 20;

  /// Those of the process for values, and for copies of constants, which are cleared when a session is ready.
  static SpareBlocks& get();
  static SpareBlocks& of_copies();
  /// Gives a block to the process's pool, or frees it where there is none yet. Never fails: values and copies go by it.
  static void give_value(void* block, size_t bytes) noexcept;
  static void give_copy(void* block, size_t bytes) noexcept;

  /// How a block that is not kept goes.
  using Free = void (*)(void* block, size_t bytes);
  static void to_heap(void* block, size_t bytes);

  explicit SpareBlocks(size_t most = kMost, Free free = to_heap) : most_(most), free_(free) {}
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
  const size_t most_;
  const Free free_;
  std::mutex mutex_;
  std::vector<Block> blocks_;  // the oldest first
  size_t bytes_ = 0;
};

}  // namespace tenon::runtime
