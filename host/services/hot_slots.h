// A few places for idle objects, each taken and filled with one atomic exchange.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

namespace tenon::runtime {

/// Counts threads from 0; spreads them over places.
inline size_t thread_number() {
  static std::atomic<size_t> next{0};
  thread_local const size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

/// Thread-safe. Threads meet in one place only when there are more of them than places.
template <class T>
class HotSlots {
 public:
  HotSlots() = default;
  ~HotSlots() {
    for (std::atomic<T*>& place : places_) delete place.load(std::memory_order_acquire);
  }
  HotSlots(const HotSlots&) = delete;
  HotSlots& operator=(const HotSlots&) = delete;

  /// What this thread put back last, or null.
  std::unique_ptr<T> take() {
    return std::unique_ptr<T>(place().exchange(nullptr, std::memory_order_acq_rel));
  }
  /// Gives back what had to make room for it, or null.
  std::unique_ptr<T> put(std::unique_ptr<T> object) {
    return std::unique_ptr<T>(place().exchange(object.release(), std::memory_order_acq_rel));
  }

 private:
  static constexpr size_t kPlaces = 8;
  std::atomic<T*>& place() { return places_[thread_number() % kPlaces]; }

  std::array<std::atomic<T*>, kPlaces> places_{};
};

}  // namespace tenon::runtime
