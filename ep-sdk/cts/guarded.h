// Memory that notices: pages that nobody may touch around it, and its own pages protected on request.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cts {

/// What the bytes around memory hold that is made from now on. A result that changes with it was read from there.
void fill_surroundings(uint8_t byte);

/// `size` bytes that end exactly at (or, for an alignment, less than it before) a page that nobody may touch,
/// with another such page in front of their first page.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t size, size_t alignment = 1);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  /// PROT_READ, PROT_NONE, PROT_READ | PROT_WRITE.
  void protect(int protection) const;
  /// Whether a byte of its pages outside of [data, data + size) was changed.
  bool overrun() const;

 private:
  uint8_t* pages_ = nullptr;  // the guard in front
  size_t inner_ = 0;          // bytes between the guards
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  uint8_t slack_ = 0;  // what the bytes around hold
};

}  // namespace tenon::cts
