// Parts of the texts of matrix products and convolutions. A product is y = alpha * a * b + beta * bias + addend, clamped, in batches.
#pragma once

#include "kernels/common/lines_text.h"
#include "kernels/common/texts.h"

namespace tenon::cuda {

/// After kLines: types, and what is done to a sum before it is stored. Where the depth is divided among blocks, each stores
/// its sums as they are, and GemmSum adds them: in one order, so that results do not change from one Run to the next.
inline constexpr std::string_view kGemmSums = R"CU(
template <bool kIsWide>
struct WordOf {
  typedef uint32 type;
};
template <>
struct WordOf<true> {
  typedef uint64 type;
};
#if IS_REAL
typedef C S;
#else
typedef WordOf<(sizeof(T) > 4)>::type S;  // wraps around as T does
#endif
struct Numbers {
  int rows, columns, depth;
  int a_row, a_depth, b_depth, b_column, y_row, bias_row, bias_column;
  float alpha, beta, lowest, highest;
  int splits, part;  // of the depth: how many parts, and the length of one
  int warps;         // that share a line
};
template <int N>
__device__ inline bool is_aligned(const T* p, int64 step) {
  return (uint64)p % alignof(LineOf<T, N>) == 0 && step % N == 0;
}
__device__ inline S widen(T value) { return (S)(C)value; }
#ifndef Y_PLACES
// Where the element in row m and column n is: in a batch of y, and of bias.
#define Y_PLACES                                                                       \
  const auto y_at = [&](int m, int n) { return y_batch + m * (int64)g.y_row + n; };    \
  const auto bias_at = [&](int m, int n) { return bias_batch + m * (int64)g.bias_row + n * (int64)g.bias_column; };
#define FIND_TWO(batch, u, i, v, j)                                                    \
  int64 u = 0, v = 0;                                                                  \
  for (int d = w.rank - 1, r = (int)(batch); d >= 0; --d) {                            \
    const int q = r / w.size[d], at = r - q * w.size[d];                               \
    u += (int64)at * w.stride[i][d];                                                   \
    v += (int64)at * w.stride[j][d];                                                   \
    r = q;                                                                             \
  }
#define FIND_INPUTS(batch) FIND_TWO(batch, a_batch, 0, b_batch, 1)
#define FIND_OUTPUTS(batch) FIND_TWO(batch, y_batch, 2, bias_batch, 3)
#define BATCHES w.outer
#define SHAPE Walk w
#endif
#define TENSORS IN(T, a), IN(T, b), IN(T, bias), IN(T, addend), OUT(T, y), OUT(S, partial), SHAPE, Numbers g
// NaN stays NaN.
__device__ inline T finish(S sum, const T* bias, const T* addend, const Numbers& g) {
#if IS_REAL
  sum *= (S)g.alpha;
  if (g.beta != 0) sum += (S)g.beta * widen(*bias);
  if (addend != nullptr) sum += widen(*addend);
  if (g.lowest != g.highest) sum = sum < (S)g.lowest ? (S)g.lowest : sum > (S)g.highest ? (S)g.highest : sum;
#else
  if (g.beta != 0) sum += widen(*bias);
  if (addend != nullptr) sum += widen(*addend);
#endif
  return (T)(C)sum;
}
#define BIAS_AT(m, n) (g.beta == 0 ? bias : bias + bias_at(m, n))
#define ADDEND_AT(at) (addend == nullptr ? addend : addend + (at))
#define FINISH(sum, m, n) y[y_at(m, n)] = finish(sum, BIAS_AT(m, n), ADDEND_AT(y_at(m, n)), g)
// Where a block keeps the sum of its part of the depth.
#define PARTIAL_AT(split, batch, m, n) ((((int64)(split)*BATCHES + (batch)) * g.rows + (m)) * g.columns + (n))
#ifndef PRODUCT
#define PRODUCT(name) Gemm##name
#endif
KERNEL PRODUCT(Sum)(IN(S, partial), IN(T, bias), IN(T, addend), OUT(T, y), SHAPE, Numbers g) {
  EACH_Z(batch, BATCHES) {
    FIND_OUTPUTS(batch)
    Y_PLACES
    EACH_Y(row, g.rows) EACH(column, g.columns) {
      const int m = (int)row, n = (int)column;
      S sum = 0;
      for (int split = 0; split < g.splits; ++split) sum += partial[PARTIAL_AT(split, batch, m, n)];
      FINISH(sum, m, n);
    }
  }
}
)CU";

// A block of 256 threads computes a tile of SIDE rows and columns; each thread 8 by 8 of them, or 4 by 4 of a small tile. Parts
// of a and b go through shared memory, with the depth outermost. TURNED_A: rows of a are neighbours, TURNED_B: columns of b are not.
// The next part is read while this one is multiplied.
//
// For another b, a text defines B_SOURCE before: statements that declare
//   find_b(k)                        prepares reading the part that begins at k; a barrier follows
//   load_b(k, end, staged_b)         reads this thread's elements of the part: of column b_n, at each depth b_k(e)
// and B_STORED, which says that they are laid out so.
inline constexpr std::string_view kGemmTile = R"CU(
constexpr int kThreads = 256, kPer = SIDE / 16;
constexpr int kLine = sizeof(T) > 4 ? 2 : 4;
constexpr int kDepth = kLine * kThreads / SIDE, kPitch = SIDE + 4;
typedef LineOf<S, 4> Four;

// Steps of the depth that are unrolled: as many as there are registers for.
#ifndef STEPS
#define STEPS 2
#endif
#ifndef B_SOURCE
#if TURNED_B
#define B_SOURCE                                                                                     \
  const int b_n = thread / (kDepth / kLine), b_k = thread % (kDepth / kLine) * kLine;                \
  const T* b_from = b + b_batch + (int64)(n0 + b_n) * g.b_column + begin + b_k;                              \
  const bool b_fast = is_aligned<kLine>(b + b_batch, g.b_column), b_inside = n0 + b_n < g.columns;   \
  const auto find_b = [](int) {};                                                                    \
  const auto load_b = [&](int k, int end, T(&to)[kLine]) {                                           \
    load_line(to, b_from, b_inside ? end - k - b_k : 0, b_fast);                                     \
    b_from += kDepth;                                                                                \
  };
#else
#define B_SOURCE                                                                                     \
  const int b_n = thread % (SIDE / kLine) * kLine, b_k = thread / (SIDE / kLine);                    \
  const T* b_from = b + b_batch + (int64)(begin + b_k) * g.b_depth + n0 + b_n;                                 \
  const bool b_fast = is_aligned<kLine>(b + b_batch, g.b_depth);                                     \
  const auto find_b = [](int) {};                                                                    \
  const auto load_b = [&](int k, int end, T(&to)[kLine]) {                                           \
    load_line(to, b_from, k + b_k < end ? g.columns - n0 - b_n : 0, b_fast);                         \
    b_from += (int64)kDepth * g.b_depth;                                                             \
  };
#endif
#define STORE_B(e) bs[buffer][TURNED_B ? b_k + e : b_k][TURNED_B ? b_n : b_n + e]
#endif

KERNEL __launch_bounds__(256, 2) PRODUCT(Tile)(TENSORS) {
  alignas(16) __shared__ S as[2][kDepth][kPitch];
  alignas(16) __shared__ S bs[2][kDepth][kPitch];
  const int thread = (int)threadIdx.x, tx = thread % 16, ty = thread / 16;
  // Tiles of eight rows of tiles follow each other, so that what they read is still in the cache.
  const int down = (g.rows + SIDE - 1) / SIDE, across = (g.columns + SIDE - 1) / SIDE;
  const int strip = (int)blockIdx.x / (8 * across) * 8, in_strip = (int)blockIdx.x - strip * across;
  const int height = down - strip < 8 ? down - strip : 8;
  const int m0 = (strip + in_strip % height) * SIDE, n0 = in_strip / height * SIDE;
  const int begin = (int)blockIdx.y * g.part;
  const int end = g.depth - begin < g.part ? g.depth : begin + g.part;
  for (int batch = (int)blockIdx.z; batch < BATCHES; batch += (int)gridDim.z) {
    FIND_INPUTS(batch)
#if TURNED_A
    const int a_m = thread % (SIDE / kLine) * kLine, a_k = thread / (SIDE / kLine);
    const T* a_from = a + a_batch + (int64)(begin + a_k) * g.a_depth + m0 + a_m;
    const bool a_fast = is_aligned<kLine>(a + a_batch, g.a_depth);
#else
    const int a_m = thread / (kDepth / kLine), a_k = thread % (kDepth / kLine) * kLine;
    const T* a_from = a + a_batch + (int64)(m0 + a_m) * g.a_row + begin + a_k;
    const bool a_fast = is_aligned<kLine>(a + a_batch, g.a_row), a_inside = m0 + a_m < g.rows;
#endif
    B_SOURCE
    T staged_a[kLine], staged_b[kLine];
    const auto load = [&](int k) {
#if TURNED_A
      load_line(staged_a, a_from, k + a_k < end ? g.rows - m0 - a_m : 0, a_fast);
      a_from += (int64)kDepth * g.a_depth;
#else
      load_line(staged_a, a_from, a_inside ? end - k - a_k : 0, a_fast);
      a_from += kDepth;
#endif
      load_b(k, end, staged_b);
    };
    const auto store = [&](int buffer) {
#pragma unroll
      for (int e = 0; e < kLine; ++e) {
        as[buffer][TURNED_A ? a_k : a_k + e][TURNED_A ? a_m + e : a_m] = widen(staged_a[e]);
        STORE_B(e) = widen(staged_b[e]);
      }
    };
    S sums[kPer][kPer] = {};
    find_b(begin);
    __syncthreads();  // also for the batch before, which may still be multiplying
    load(begin);
    find_b(begin + kDepth);
    store(0);
    __syncthreads();
    int buffer = 0;
    for (int k = begin; k < end; k += kDepth) {
      const bool is_last = k + kDepth >= end;
      if (!is_last) load(k + kDepth);
#pragma unroll (STEPS)
      for (int step = 0; step < kDepth; ++step) {
        S left[kPer], right[kPer];
#pragma unroll
        for (int half_ = 0; half_ < kPer / 4; ++half_) {
          const Four u = *(const Four*)&as[buffer][step][half_ * (SIDE / 2) + ty * 4];
          const Four v = *(const Four*)&bs[buffer][step][half_ * (SIDE / 2) + tx * 4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            left[half_ * 4 + i] = u.at[i];
            right[half_ * 4 + i] = v.at[i];
          }
        }
#pragma unroll
        for (int i = 0; i < kPer; ++i) {
#pragma unroll
          for (int j = 0; j < kPer; ++j) sums[i][j] += left[i] * right[j];
        }
      }
      buffer = 1 - buffer;
      find_b(k + 2 * kDepth);
      if (!is_last) store(buffer);
      __syncthreads();
    }
    FIND_OUTPUTS(batch)
    Y_PLACES
    const bool is_whole = g.columns % 4 == 0 && y_at(1, 0) % 4 == 0 && y_at(0, 0) % 4 == 0 &&
                          (uint64)y % alignof(LineOf<T, 4>) == 0;
    // A row of each thread at a time goes through shared memory, so that neighbours store what is next to each other. The others
    // move up: registers have no index that changes.
    S* const rows = &as[0][0][0];
#pragma unroll 1
    for (int i = 0; i < kPer; ++i) {
#pragma unroll
      for (int j = 0; j < kPer; ++j) {
        rows[ty * SIDE + j / 4 * (SIDE / 2) + tx * 4 + j % 4] = sums[0][j];
#pragma unroll
        for (int next = 1; next < kPer; ++next) sums[next - 1][j] = sums[next][j];
      }
      __syncthreads();
#pragma unroll 1
      for (int at = thread * 4; at < 16 * SIDE; at += 4 * kThreads) {
        const int m = m0 + i / 4 * (SIDE / 2) + at / SIDE * 4 + i % 4, n = n0 + at % SIDE;
        if (m >= g.rows || n >= g.columns) continue;
        if (g.splits > 1) {
          S* to = partial + PARTIAL_AT(blockIdx.y, batch, m, n);
          for (int e = 0; e < 4 && n + e < g.columns; ++e) to[e] = rows[at + e];
        } else if (is_whole) {
          const int64 to = y_at(m, n);
          LineOf<T, 4> line;
#pragma unroll
          for (int e = 0; e < 4; ++e) line.at[e] = finish(rows[at + e], BIAS_AT(m, n + e), ADDEND_AT(to + e), g);
          *(LineOf<T, 4>*)(y + to) = line;
        } else {
          for (int e = 0; e < 4 && n + e < g.columns; ++e) FINISH(rows[at + e], m, n + e);
        }
      }
      __syncthreads();
    }
  }
}
)CU";

}  // namespace tenon::cuda
