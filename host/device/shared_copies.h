// Copies of constants at addresses that providers may use. Sessions that have the same bytes share them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/ir/tensor.h"
#include "tenon/ep.h"

namespace tenon::runtime {

/// Bytes that do not change, 64-byte aligned.
class Copy {
 public:
  static constexpr size_t kAlignment = 64;

  /// A copy of the bytes, or null if there is no memory.
  static std::shared_ptr<const Copy> of(std::span<const std::byte> bytes);
  ~Copy();
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  std::byte* data() const { return data_; }
  bool holds(std::span<const std::byte> bytes) const;

 private:
  Copy() = default;
  std::byte* data_ = nullptr;
  size_t capacity_ = 0, size_ = 0;
};

/// The copies that are in use. Thread-safe. One for the process.
class SharedCopies {
 public:
  /// Smaller ones are copied for each session: looking for them costs more than it gains.
  static constexpr size_t kLeast = size_t{16} << 10;

  static SharedCopies& get();

  /// A copy of the bytes, which others may have too; or null if there is no memory.
  std::shared_ptr<const Copy> copy(std::span<const std::byte> bytes);

 private:
  std::mutex mutex_;
  std::multimap<uint64_t, std::weak_ptr<const Copy>> copies_;  // by a key of a few bytes
  size_t sweep_at_ = 64;
};

/// Whether providers and operators need a copy of the data.
bool needs_copy(const ir::Tensor& tensor);
/// Describes the tensor with aligned data: its own, or that of a copy, which `copies` then keeps. OUT_OF_MEMORY.
Result<tenon_tensor> describe_aligned(const ir::Tensor& tensor,
                                      std::vector<std::shared_ptr<const Copy>>* copies);

}  // namespace tenon::runtime
