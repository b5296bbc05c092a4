// Parts of kernels' texts that several files need.
#pragma once

#include <array>
#include <string_view>

namespace tenon::cuda {

namespace detail {

template <const std::string_view&... kParts>
struct Joined {
  static constexpr auto kCharacters = [] {
    std::array<char, (kParts.size() + ... + 0)> out{};
    size_t at = 0;
    const auto append = [&](std::string_view part) {
      for (const char c : part) out[at++] = c;
    };
    (append(kParts), ...);
    return out;
  }();
};

}  // namespace detail

/// One text made of several, when the provider is compiled.
template <const std::string_view&... kParts>
inline constexpr std::string_view kJoined{detail::Joined<kParts...>::kCharacters.data(),
                                          detail::Joined<kParts...>::kCharacters.size()};

/// Sums and products in C. Integers wrap around, and none overflows in the sense of the language.
inline constexpr std::string_view kWrapping = R"CU(
#ifdef C
#if IS_REAL
__device__ inline C plus(C a, C b) { return a + b; }
__device__ inline C times(C a, C b) { return a * b; }
#else
__device__ inline C plus(C a, C b) { return (C)((uint64)a + (uint64)b); }
__device__ inline C times(C a, C b) { return (C)((uint64)a * (uint64)b); }
#endif
#endif
)CU";

/// Kernels that go over rows, in two forms: FORM is 0 if a thread does a row, 1 if a block does (kernels/common/rows.h).
///
/// EACH_ROW loops over the rows as EACH_Y and EACH do, EACH_MEMBER over the elements of a row that are this thread's.
/// of_row(value, neutral, both) combines what the threads of a row found, as block_combine() does; all of them reach it.
/// visit_line(from, step, count, each) calls each(k, element) for the elements of this thread, and map_line(from, to, step,
/// count, make) stores make(k, element): of neighbours 16 bytes at once.
inline constexpr std::string_view kRowForms = R"CU(
#if FORM == 0
#define IS_FIRST true
#define EACH_ROW(i, count, row, rows) EACH_Y(row, rows) EACH(i, count)
#define EACH_MEMBER(k, count) for (int k = 0; k < (count); ++k)
template <class V, class Both>
__device__ inline V of_row(V value, V, Both) {
  return value;
}
#else
#define IS_FIRST (threadIdx.x == 0)
#define EACH_ROW(i, count, row, rows)                                  \
  for (int64 row = blockIdx.y; row < (int64)(rows); row += gridDim.y)  \
    for (int64 i = blockIdx.x; i < (int64)(count); i += gridDim.x)
#define EACH_MEMBER(k, count) for (int k = (int)threadIdx.x; k < (count); k += (int)blockDim.x)
template <class V, class Both>
__device__ inline V of_row(V value, V neutral, Both both) {
  return block_combine(value, neutral, both);
}
#endif
template <class V>
__device__ inline V sum_of_row(V value) {
  return of_row(value, (V)0, SumOf<V>());
}
#define PACKED ((int)(16 / sizeof(T)))
struct alignas(16) Pack {
  T at[PACKED];
};
__device__ inline bool begins_pack(const T* at) { return (uint64)at % sizeof(Pack) == 0; }
template <class Each>
__device__ inline void visit_line(const T* from, int64 step, int count, Each each) {
  int first = 0;
  if (step == 1 && begins_pack(from)) {
    EACH_MEMBER(i, count / PACKED) {
      const Pack pack = ((const Pack*)from)[i];
#pragma unroll
      for (int k = 0; k < PACKED; ++k) each(i * PACKED + k, (C)pack.at[k]);
    }
    first = count / PACKED * PACKED;
  }
  EACH_MEMBER(k, count - first) each(first + k, (C)from[(first + k) * step]);
}
template <class Make>
__device__ inline void map_line(const T* from, T* to, int64 step, int count, Make make) {
  int first = 0;
  if (step == 1 && begins_pack(from) && begins_pack(to)) {
    EACH_MEMBER(i, count / PACKED) {
      const Pack pack = ((const Pack*)from)[i];
      Pack made;
#pragma unroll
      for (int k = 0; k < PACKED; ++k) made.at[k] = (C)make(i * PACKED + k, (C)pack.at[k]);
      ((Pack*)to)[i] = made;
    }
    first = count / PACKED * PACKED;
  }
  EACH_MEMBER(k, count - first) to[(first + k) * step] = (C)make(first + k, (C)from[(first + k) * step]);
}
)CU";

}  // namespace tenon::cuda
