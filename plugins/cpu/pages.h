// Memory for packed weights.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// Uninitialised bytes, 64-byte aligned. Large blocks lie in huge pages where the system has them, and go back to the system
/// when they are freed, so that packing leaves no holes between what stays.
class Pages {
 public:
  /// Throws std::bad_alloc.
  explicit Pages(uint64_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  uint64_t mapped_ = 0;  // bytes of a mapping; 0: data_ is of the heap
};

}  // namespace tenon::cpu
