#include "isa/move.h"

#include "isa/vector.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

// Elements of 1 and 2 bytes take 16-byte registers everywhere: only within these all instruction sets interleave.
typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef uint16_t Shorts __attribute__((vector_size(16)));
typedef uint32_t Words __attribute__((vector_size(TENON_ISA_BYTES)));
typedef uint64_t Longs __attribute__((vector_size(TENON_ISA_BYTES)));

/// a0 b0 a1 b1 ... of the first halves.
template <int n, class V>
inline V low(V a, V b) {
  if constexpr (n == 16)
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  else if constexpr (n == 8)
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  else if constexpr (n == 4)
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
  else
    return __builtin_shufflevector(a, b, 0, 2);
}
/// The same of the second halves.
template <int n, class V>
inline V high(V a, V b) {
  if constexpr (n == 16)
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  else if constexpr (n == 8)
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  else if constexpr (n == 4)
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
  else
    return __builtin_shufflevector(a, b, 1, 3);
}

/// One square tile of n registers. Each round interleaves register i with i + n / 2; after log2(n) rounds rows
/// and columns have changed places.
template <class V, class T>
inline void transpose_tile(const T* in, int64_t in_stride, T* out, int64_t out_stride) {
  constexpr int n = static_cast<int>(sizeof(V) / sizeof(T));
  V at[n];
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) __builtin_memcpy(&at[i], in + i * in_stride, sizeof(V));
#pragma GCC unroll 4
  for (int round = 1; round < n; round *= 2) {
    V next[n];
#pragma GCC unroll 8
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = low<n>(at[i], at[i + n / 2]);
      next[2 * i + 1] = high<n>(at[i], at[i + n / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) at[i] = next[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) __builtin_memcpy(out + i * out_stride, &at[i], sizeof(V));
}

/// Register kPart of a0 b0 c0 a1 b1 c1 ...: first those of a and b, between which those of c are put.
template <int kPart, class V, int... kAt>
inline V three(V a, V b, V c, std::integer_sequence<int, kAt...>) {
  constexpr int n = sizeof...(kAt), kFirst = kPart * n;
  const V pairs = __builtin_shufflevector(a, b, ((kFirst + kAt) % 3 % 2 * n + (kFirst + kAt) / 3)...);
  return __builtin_shufflevector(pairs, c, ((kFirst + kAt) % 3 == 2 ? n + (kFirst + kAt) / 3 : kAt)...);
}

/// Columns without gaps in the result, as images of few channels have: registers of columns are interleaved. Returns the number of rows
/// that are done.
template <int kColumns, class V, class T>
int64_t interleave(const T* in, int64_t in_stride, T* out, int64_t rows) {
  constexpr int n = static_cast<int>(sizeof(V) / sizeof(T));
  int64_t r = 0;
  for (; r + n <= rows; r += n, out += kColumns * n) {
    V at[kColumns], to[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) __builtin_memcpy(&at[c], in + c * in_stride + r, sizeof(V));
    if constexpr (kColumns == 2) {
      to[0] = low<n>(at[0], at[1]), to[1] = high<n>(at[0], at[1]);
    } else if constexpr (kColumns == 3) {
      constexpr std::make_integer_sequence<int, n> kAll;
      to[0] = three<0>(at[0], at[1], at[2], kAll), to[1] = three<1>(at[0], at[1], at[2], kAll);
      to[2] = three<2>(at[0], at[1], at[2], kAll);
    } else {
      const V a = low<n>(at[0], at[2]), b = high<n>(at[0], at[2]), c = low<n>(at[1], at[3]),
              d = high<n>(at[1], at[3]);
      to[0] = low<n>(a, c), to[1] = high<n>(a, c), to[2] = low<n>(b, d), to[3] = high<n>(b, d);
    }
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) __builtin_memcpy(out + c * n, &to[c], sizeof(V));
  }
  return r;
}

/// Tiles at the end overlap those before them.
template <class V, class T>
void transpose(const void* from, int64_t in_stride, void* to, int64_t out_stride, int64_t rows,
               int64_t columns) {
  constexpr int64_t n = static_cast<int64_t>(sizeof(V) / sizeof(T));
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  if (rows < n || columns < n) {
    int64_t done = 0;
    if (out_stride == columns) {
      if (columns == 2) done = interleave<2, V>(in, in_stride, out, rows);
      if (columns == 3) done = interleave<3, V>(in, in_stride, out, rows);
      if (columns == 4) done = interleave<4, V>(in, in_stride, out, rows);
    }
    for (int64_t r = done; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) out[r * out_stride + c] = in[c * in_stride + r];
    return;
  }
  for (int64_t r0 = 0; r0 < rows; r0 += n) {
    const int64_t r = r0 + n <= rows ? r0 : rows - n;
    for (int64_t c0 = 0; c0 < columns; c0 += n) {
      const int64_t c = c0 + n <= columns ? c0 : columns - n;
      transpose_tile<V>(in + c * in_stride + r, in_stride, out + r * out_stride + c, out_stride);
    }
  }
}

}  // namespace

void transpose_words(const void* from, int64_t in_stride, void* to, int64_t out_stride, int64_t rows,
                     int64_t columns) {
  transpose<Words, uint32_t>(from, in_stride, to, out_stride, rows, columns);
}

void fill_move(Table& table) {
  static const Moves kMoves = {transpose<Bytes, uint8_t>, transpose<Shorts, uint16_t>, transpose_words,
                               transpose<Longs, uint64_t>};
  table.move = &kMoves;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
