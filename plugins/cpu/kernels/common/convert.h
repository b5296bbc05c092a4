// Bulk conversion between element types.
#pragma once

#include "device.h"
#include "kernels/common/shape.h"

namespace tenon::cpu {

/// Converts `n` elements of float32, float16 or bfloat16 to float32.
template <class T>
void to_float(const T* from, float* to, int64_t n) {
  if constexpr (std::is_same_v<T, Float16>) {
    isa_table().half_to_float(reinterpret_cast<const uint16_t*>(from), to, n);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
  }
}

template <class T>
void from_float(const float* from, T* to, int64_t n) {
  if constexpr (std::is_same_v<T, Float16>) {
    isa_table().float_to_half(from, reinterpret_cast<uint16_t*>(to), n);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(from[i]);
  }
}

/// Copies a float16 or bfloat16 tensor to scratch memory as float32.
template <class T>
const float* as_float(const Context& ctx, TensorView from) {
  const int64_t n = from.size();
  auto* out = ctx.scratch<float>(n);
  ctx.parallel_for(n, kGrainCheap, [&](int64_t begin, int64_t end) {
    to_float(from.data<T>() + begin, out + begin, end - begin);
  });
  return out;
}

/// Converts float32 to the type of an output.
template <class T>
void store_float(const Context& ctx, const float* from, OutputTensor to) {
  ctx.parallel_for(to.size(), kGrainCheap, [&](int64_t begin, int64_t end) {
    from_float(from + begin, to.data<T>() + begin, end - begin);
  });
}

}  // namespace tenon::cpu
