// Large blocks of memory.
#pragma once

#include <cstddef>
#include <utility>

namespace tenon {

/// Bytes of the system, at the beginning of a page, set to 0. The destructor gives them back at once; large blocks of the heap
/// would leave holes that small ones fill.
class Pages {
 public:
  Pages() = default;
  /// On failure data() is null. `size` must not be 0.
  explicit Pages(size_t size);
  ~Pages();
  Pages(Pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tenon
