// Pages between guard pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accelerator {

/// What tests find in memory that nobody has written.
inline constexpr int kGarbage = 0xA5;

/// Whole pages for at least so many bytes, with an inaccessible page before and behind. Inaccessible themselves until
/// protect(). Moved, not copied.
class Pages {
 public:
  Pages() = default;
  /// Throws RESOURCE_EXHAUSTED.
  explicit Pages(uint64_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;

  /// What `bytes` take up.
  static uint64_t rounded(uint64_t bytes);

  std::byte* begin() const { return begin_; }
  std::byte* end() const { return begin_ + size_; }
  uint64_t size() const { return size_; }
  /// PROT_NONE, PROT_READ, or PROT_READ | PROT_WRITE. False when the system refuses.
  [[nodiscard]] bool protect(int access) const noexcept;

 private:
  std::byte* begin_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace accelerator
