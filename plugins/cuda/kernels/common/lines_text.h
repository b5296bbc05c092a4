// Part of kernels' texts: neighbouring elements of T, read and written at once.
#pragma once

#include <string_view>

namespace tenon::cuda {

/// load_line(to, from, count) reads as many elements as `to` has, of which those beyond `count` become 0. With a fourth argument,
/// the caller says whether they begin at a multiple of their bytes.
inline constexpr std::string_view kLines = R"CU(
template <class V, int N>
struct alignas(N * sizeof(V) < 16 ? N * sizeof(V) : 16) LineOf {
  V at[N];
};
template <int N>
__device__ inline void load_line(T (&to)[N], const T* from, int count, bool fast) {
  if (fast && count >= N) {
    const LineOf<T, N> line = *(const LineOf<T, N>*)from;
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = line.at[i];
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = i < count ? from[i] : T();
  }
}
template <int N>
__device__ inline void load_line(T (&to)[N], const T* from, int count) {
  load_line(to, from, count, (uint64)from % alignof(LineOf<T, N>) == 0);
}
)CU";

}  // namespace tenon::cuda
