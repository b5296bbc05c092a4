// Indices that are constant: they are checked before any Run.
#ifndef TENON_EP_DEVICE_INDICES_HPP_
#define TENON_EP_DEVICE_INDICES_HPP_

#include "tenon/ep/tensor.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// Throws OUT_OF_RANGE if an index is out of range. `sizes`: the axes that the indices address in turn.
inline void require_indices(const TensorView& indices, std::span<const int64_t> sizes) {
  dispatch(kIndexTypes, indices.dtype(), [&]<class T>() {
    const std::span<const T> all = indices.span<T>();
    for (size_t i = 0; i < all.size(); ++i) {
      const auto index = static_cast<int64_t>(all[i]), size = sizes[i % sizes.size()];
      require(index >= -size && index < size, TENON_OUT_OF_RANGE, "index ", index,
              " is out of range for an axis of ", size);
    }
  });
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_INDICES_HPP_
