// Indices that are out of range: constant ones are found before any Run, others by the kernels that read them.
#ifndef TENON_EP_DEVICE_INDICES_HPP_
#define TENON_EP_DEVICE_INDICES_HPP_

#include <atomic>
#include <optional>
#include <string>
#include <type_traits>

#include "tenon/ep/tensor.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

namespace detail {

inline std::string out_of_range_text(int64_t index, int64_t size) {
  return cat("index ", index, " is out of range for an axis of ", size);
}

}  // namespace detail

/// Throws OUT_OF_RANGE if an index is out of range. `sizes`: the axes that the indices address in turn.
inline void require_indices(const TensorView& indices, std::span<const int64_t> sizes) {
  dispatch(kIndexTypes, indices.dtype(), [&]<class T>() {
    const std::span<const T> all = indices.span<T>();
    for (size_t i = 0; i < all.size(); ++i) {
      const auto index = static_cast<int64_t>(all[i]), size = sizes[i % sizes.size()];
      if (index < -size || index >= size) fail(TENON_OUT_OF_RANGE, detail::out_of_range_text(index, size));
    }
  });
}

/// What a kernel reports of the first bad index that it read, in memory that the host sees when the work is done. A kernel writes
/// here only if it is the one that changes is_set from 0 to 1.
struct IndexReport {
  std::atomic<int32_t> is_set = 0;  // the device writes it, which the compiler cannot see
  int32_t size = 0;                 // of the axis, in elements
  int32_t low = 0, high = 0;        // the halves of the index
};
static_assert(sizeof(IndexReport) == 16 && std::is_standard_layout_v<IndexReport>);

/// The error that `report` tells of, if it is set; it no longer is afterwards. For finished work. `place`: of the node.
inline std::optional<Error> take_report(IndexReport& report, const std::string& place) {
  if (report.is_set.load(std::memory_order_acquire) == 0) return std::nullopt;
  const auto index = static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(report.high)) << 32 |
                                          static_cast<uint32_t>(report.low));
  Error out{TENON_OUT_OF_RANGE, detail::out_of_range_text(index, report.size), TENON_ERROR_ASYNC, place};
  report.is_set.store(0, std::memory_order_relaxed);
  return out;
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_INDICES_HPP_
