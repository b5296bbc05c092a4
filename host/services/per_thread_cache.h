// A few places for idle objects. Each is emptied or filled with one atomic exchange.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

namespace tenon::runtime {

/// The number of this thread, counted from 0. Spreads threads over places.
inline size_t thread_number() {
  static std::atomic<size_t> next{0};
  thread_local const size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

/// Thread-safe. Threads share places only after more threads than places were made.
template <class T>
class PerThreadCache {
 public:
  PerThreadCache() = default;
  ~PerThreadCache() {
    for (std::atomic<T*>& place : places_) delete place.load(std::memory_order_acquire);
  }
  PerThreadCache(const PerThreadCache&) = delete;
  PerThreadCache& operator=(const PerThreadCache&) = delete;

  static constexpr size_t kPlaces = 8;

  /// The object in this thread's place, or null.
  std::unique_ptr<T> take() {
    return std::unique_ptr<T>(place().exchange(nullptr, std::memory_order_acq_rel));
  }
  /// Puts `object` into this thread's place. Returns the object that was there, or null.
  std::unique_ptr<T> put(std::unique_ptr<T> object) {
    return std::unique_ptr<T>(place().exchange(object.release(), std::memory_order_acq_rel));
  }
  /// The object in place `index`, of any thread, or null.
  std::unique_ptr<T> take_from(size_t index) {
    return std::unique_ptr<T>(places_[index].exchange(nullptr, std::memory_order_acq_rel));
  }
  /// Puts `object` into place `index`. Returns it when the place is not empty.
  std::unique_ptr<T> put_back(size_t index, std::unique_ptr<T> object) {
    T* empty = nullptr;
    if (places_[index].compare_exchange_strong(empty, object.get(), std::memory_order_acq_rel))
      static_cast<void>(object.release());
    return object;
  }

 private:
  std::atomic<T*>& place() { return places_[thread_number() % kPlaces]; }

  std::array<std::atomic<T*>, kPlaces> places_{};
};

}  // namespace tenon::runtime
