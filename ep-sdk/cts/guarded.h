// Memory between protected pages that cannot be read or written. Its own pages can be protected too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ep-sdk/cts/pages.h"

namespace tenon::cts {

/// Sets the value of the unused bytes in GuardedMemory made from now on. A result that depends on it was read from
/// there.
void fill_surroundings(uint8_t byte);

/// `size` bytes between two protected pages. They end at the second page, or less than `alignment` bytes before it.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t size, size_t alignment = 1);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  void protect(Access access) const;
  /// Whether a byte of its pages outside of [data, data + size) was changed.
  bool overrun() const;

 private:
  uint8_t* pages_ = nullptr;  // the first protected page
  size_t inner_ = 0;          // bytes between the protected pages
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  uint8_t slack_ = 0;  // value of the unused bytes
};

}  // namespace tenon::cts
