// Pages of freed copies of constants, for the next copies. A copy lives until a provider has packed it, so that the copies of one model
// follow each other, and filling fresh pages takes longer than copying.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace tenon::runtime {

/// Thread-safe. Sizes are multiples of the system's pages.
class SparePages {
 public:
  /// Bytes that are kept at most: the largest weights of most models.
  static constexpr size_t kMost = size_t{16} << 20;

  /// Those of the process. They are cleared when a session is ready.
  static SparePages& get();
  /// Gives pages to those of the process, or to the system where there are none yet. Never fails.
  static void give_back(void* pages, size_t bytes) noexcept;

  SparePages() = default;
  ~SparePages() { clear(); }
  SparePages(const SparePages&) = delete;
  SparePages& operator=(const SparePages&) = delete;

  /// `bytes` of the smallest range that has as many; the rest of it stays here. Null if there is none.
  void* take(size_t bytes);
  /// Keeps the pages, joined with those before and behind them, instead of smaller ranges if it would be too much.
  void give(void* pages, size_t bytes) noexcept;
  /// Gives all that is kept to the system.
  void clear();

 private:
  using Ranges = std::map<std::byte*, size_t>;  // bytes by address
  Ranges::iterator smallest_of(size_t bytes);
  void drop(Ranges::iterator range);

  std::mutex mutex_;
  Ranges ranges_;
  size_t bytes_ = 0;
};

}  // namespace tenon::runtime
