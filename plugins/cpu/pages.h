// Memory for packed weights.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// Uninitialised bytes, 64-byte aligned. From 64 KiB on they lie in huge pages where the system has them, and go back to the system
/// when they are freed, so that packing leaves no holes between what stays.
class Pages {
 public:
  /// Throws std::bad_alloc. Thread-safe.
  explicit Pages(uint64_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void* data() const { return data_; }

 private:
  enum class Source : uint8_t { kHeap, kMapping, kArena };

  void* data_ = nullptr;
  uint64_t bytes_ = 0;  // of a mapping or of a part of an arena
  Source source_ = Source::kHeap;
};

}  // namespace tenon::cpu
