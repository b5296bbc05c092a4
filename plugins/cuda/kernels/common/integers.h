// Products of 8-bit integers with sums of 32 bits, for matrices and convolutions: y = (a - a_zero) * (b - b_zero), as int32 or scaled
// and rounded to 8 bits again.
//
// Bytes are multiplied as signed ones, four at once. Of uint8 the first bit is turned, which is 128 less; so it is of its zero points.
// These are not subtracted before: sum((a - p) * (b - q)) = sum(a * b) - q * sum(a) - p * sum(b) + depth * p * q.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/texts.h"

namespace tenon::cuda {

inline constexpr TypeList<int8_t, uint8_t> kByteTypes;

/// What scales and zero points there are: one, one per row of a or column of b, or those for each matrix.
enum class Lines : int32_t { kOne, kEach, kOfMatrix };
/// Throws if `count` is none of them. `what`: for the error.
Lines lines_of(std::string_view what, int64_t count, int64_t lines, int64_t matrices);

/// The struct Integers of the text.
struct IntegerNumbers {
  int32_t rows = 0, columns = 0, depth = 0;
  Lines a_zero = Lines::kOne, b_zero = Lines::kOne, a_scale = Lines::kOne, b_scale = Lines::kOne;
};

/// What becomes of a sum: ROUNDS of the text.
enum class Rounding : int32_t {
  kNone,     // y is int32
  kProduct,  // as QLinearMatMul: exact sums, scaled in float64
  kConv,     // as QLinearConv: sums wrap around, scaled in float32
};

/// Blocks for tiles of `rows` by `columns` in `batches`; each has kIntegerThreads.
Size3 integer_blocks(int64_t rows, int64_t columns, int64_t batches);
inline constexpr Size3 kIntegerThreads{256, 1, 1};

/// The options that the text needs. `scale`: the type of the scales; TENON_FLOAT32 if there are none.
Settings integer_settings(uint32_t a, uint32_t b, uint32_t y, uint32_t scale, Rounding rounding);

// A block of 256 threads computes a tile of 64 rows and columns, each thread 4 by 4 of them. Words of four bytes along the depth go
// through shared memory; the next part is read while this one is multiplied. Rows of a have the depth innermost.
//
// A text defines before: SHAPE, its own arguments; BATCHES; PRODUCT(name); FIND_INPUTS(batch), which declares a_at, b_at, a_matrix and
// b_matrix; Y_PLACES, which declares y_at(m, n) for `batch`; and B_SOURCE, statements that declare
//   find_b(k)                       prepares reading the part that begins at byte k; a barrier follows
//   load_b(k)                       reads this thread's four words of the part
//   store_b(buffer)                 writes them, and adds to sums of columns
//   add_b()                         adds those sums to b_sums
inline constexpr std::string_view kIntegerTile = R"CU(
struct Integers {
  int rows, columns, depth;
  int a_zero, b_zero, a_scale, b_scale;  // 0: one, 1: one per line, 2: those for each matrix
};
constexpr int kSide = 64, kWords = 16, kBytes = 4 * kWords, kPitch = kSide + 4;
struct alignas(16) Words {
  int at[4];
};
template <class V>
struct alignas(4 * sizeof(V)) FourOf {
  V at[4];
};
// What turns the bytes of V into signed ones.
template <class V>
__device__ constexpr uint32 turn_of() {
  return (V)-1 > (V)0 ? 0x80808080u : 0u;
}
template <class V>
__device__ inline int turned(V byte) {
  return (int)(int8)((uint8)byte ^ (uint8)turn_of<V>());
}
// Four bytes. Those beyond `count` become 0.
template <class V>
__device__ inline uint32 load_word(const V* from, int count) {
  if (count >= 4 && (uint64)from % 4 == 0) return *(const uint32*)from ^ turn_of<V>();
  uint32 out = 0;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (e < count) out |= (uint32)(uint8)turned(from[e]) << 8 * e;
  }
  return out;
}
// Sixteen bytes.
template <class V>
__device__ inline void load_words(int (&to)[4], const V* from, int count) {
  if (count >= 16 && (uint64)from % 16 == 0) {
    const Words words = *(const Words*)from;
#pragma unroll
    for (int e = 0; e < 4; ++e) to[e] = (int)((uint32)words.at[e] ^ turn_of<V>());
  } else {
#pragma unroll
    for (int e = 0; e < 4; ++e) to[e] = (int)load_word(from + 4 * e, count - 4 * e);
  }
}
__device__ inline int sum_of_bytes(int word) { return __dp4a(word, 0x01010101, 0); }
__device__ inline int64 place_of_line(int kind, int64 matrix, int lines, int line) {
  return kind == 0 ? 0 : kind == 1 ? line : matrix * lines + line;
}
template <class V>
__device__ inline int zero_of(const V* zeros, int kind, int64 matrix, int lines, int line) {
  return turned(zeros == nullptr ? (V)0 : zeros[place_of_line(kind, matrix, lines, line)]);
}
#if ROUNDS
// The nearest integer, ties to even, plus the zero point. NaN becomes the lowest number.
__device__ inline Y rounded(float value, const Y* y_zero) {
  const float low = (Y)-1 > (Y)0 ? 0.0f : -128.0f, high = low + 255.0f;
  const float whole = rint(value) + (y_zero == nullptr ? 0.0f : (float)*y_zero);
  return (Y)(int)(whole >= high ? high : whole > low ? whole : low);
}
#endif
KERNEL __launch_bounds__(256, ROUNDS == 1 ? 1 : 2) PRODUCT(IN(A, a), IN(B, b), IN(A, a_zero), IN(B, b_zero), IN(R, a_scale), IN(R, b_scale),
                                         IN(R, y_scale), IN(Y, y_zero), IN(int, bias), OUT(Y, y), SHAPE, Integers g) {
  __shared__ Words as[2][kWords][kPitch / 4];
  __shared__ Words bs[2][kWords][kPitch / 4];
  __shared__ int a_sums[kSide];
  __shared__ int b_sums[kSide];
  const int thread = (int)threadIdx.x, tx = thread % 16, ty = thread / 16;
  const int down = (g.rows + kSide - 1) / kSide;
  const int m0 = (int)(blockIdx.x % down) * kSide, n0 = (int)(blockIdx.x / down) * kSide;
  const int a_m = thread / 4, a_k = thread % 4 * 16;
  for (int batch = (int)blockIdx.z; batch < BATCHES; batch += (int)gridDim.z) {
    FIND_INPUTS(batch)
    const A* a_from = a + a_at + (int64)(m0 + a_m) * g.depth + a_k;
    const bool a_inside = m0 + a_m < g.rows;
    B_SOURCE
    int words_a[4], a_sum = 0;
    const auto store = [&](int buffer) {
      int* const to = &as[buffer][a_k / 4][0].at[0];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        to[e * kPitch + a_m] = words_a[e];
        a_sum += sum_of_bytes(words_a[e]);
      }
      store_b(buffer);
    };
    const auto load = [&](int k) {
      load_words(words_a, a_from + k, a_inside ? g.depth - k - a_k : 0);
      load_b(k);
    };
    if (thread < kSide) a_sums[thread] = b_sums[thread] = 0;
    find_b(0);
    __syncthreads();
    load(0);
    find_b(kBytes);
    store(0);
    __syncthreads();
    int sums[4][4] = {};
#if ROUNDS == 1
    int64 totals[4][4] = {};  // a sum of 32 bits holds a part of the depth
#endif
    int buffer = 0;
    for (int k = 0; k < g.depth; k += kBytes) {
      const bool is_last = k + kBytes >= g.depth;
      if (!is_last) load(k + kBytes);
#pragma unroll 4
      for (int word = 0; word < kWords; ++word) {
        const Words left = as[buffer][word][ty], right = bs[buffer][word][tx];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) sums[i][j] = __dp4a(left.at[i], right.at[j], sums[i][j]);
        }
      }
#if ROUNDS == 1
      if (k / kBytes % 1024 == 1023) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            totals[i][j] += sums[i][j];
            sums[i][j] = 0;
          }
        }
      }
#endif
      buffer = 1 - buffer;
      find_b(k + 2 * kBytes);
      if (!is_last) store(buffer);
      __syncthreads();
    }
    atomicAdd(&a_sums[a_m], a_sum);
    add_b();
    __syncthreads();
    Y_PLACES
    const bool is_whole = g.columns % 4 == 0 && y_at(1, 0) % 4 == 0 && y_at(0, 0) % 4 == 0 &&
                          (uint64)y % alignof(FourOf<Y>) == 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int m = m0 + ty * 4 + i, n = n0 + tx * 4;
      if (m >= g.rows || n >= g.columns) continue;
      const int64 zero_a = zero_of(a_zero, g.a_zero, a_matrix, g.rows, m);
      FourOf<Y> line;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (n + j >= g.columns) continue;
        const int64 zero_b = zero_of(b_zero, g.b_zero, b_matrix, g.columns, n + j);
        int64 total = sums[i][j];
#if ROUNDS == 1
        total += totals[i][j];
#endif
        total += g.depth * zero_a * zero_b - zero_b * a_sums[ty * 4 + i] - zero_a * b_sums[tx * 4 + j];
#if ROUNDS == 0
        line.at[j] = (Y)(uint32)(uint64)total;
#elif ROUNDS == 1
        const double scale = (double)(float)a_scale[place_of_line(g.a_scale, a_matrix, g.rows, m)] *
                             (double)(float)b_scale[place_of_line(g.b_scale, b_matrix, g.columns, n + j)] /
                             (double)(float)*y_scale;
        line.at[j] = rounded((float)((double)total * scale), y_zero);
#else
        if (bias != nullptr) total += bias[a_matrix * g.rows + m];
        const float scale = (float)*b_scale * (float)a_scale[place_of_line(g.a_scale, a_matrix, g.rows, m)] / (float)*y_scale;
        line.at[j] = rounded((float)(int)(uint32)(uint64)total * scale, y_zero);
#endif
      }
      if (is_whole) {
        *(FourOf<Y>*)(y + y_at(m, n)) = line;
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (n + j < g.columns) y[y_at(m, n + j)] = line.at[j];
        }
      }
    }
    __syncthreads();  // the sums are read
  }
}
)CU";

}  // namespace tenon::cuda
