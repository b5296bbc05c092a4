// Loops over quantised elements: corrections of sums, quantising and dequantising, transposed copies.
#include "isa/integer.h"
#include "isa/parts.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

void copy(const uint8_t* from, int64_t n, uint8_t toggle, uint8_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<uint8_t>(from[i] ^ toggle);
}

int32_t sum(const uint8_t* bytes, int64_t n) {
  uint32_t total = 0;
  for (int64_t i = 0; i < n; ++i) total += bytes[i];
  return static_cast<int32_t>(total);
}

#if defined(__SSE2__)
inline void transpose_block(const uint8_t* from, int64_t from_step, uint8_t toggle, uint8_t* to,
                            int64_t to_step) {
  const __m128i bits = _mm_set1_epi8(static_cast<char>(toggle));
  __m128i x[16], y[16];
  for (int i = 0; i < 16; ++i)
    x[i] = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_step)), bits);
  // Each step interleaves row i with row i + 8; after four of them rows are columns.
  for (int i = 0; i < 8; ++i) {
    y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]);
    y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    x[2 * i] = _mm_unpacklo_epi8(y[i], y[i + 8]);
    x[2 * i + 1] = _mm_unpackhi_epi8(y[i], y[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]);
    y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    x[2 * i] = _mm_unpacklo_epi8(y[i], y[i + 8]);
    x[2 * i + 1] = _mm_unpackhi_epi8(y[i], y[i + 8]);
  }
  for (int i = 0; i < 16; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * to_step), x[i]);
}
#else
inline void transpose_block(const uint8_t* from, int64_t from_step, uint8_t toggle, uint8_t* to,
                            int64_t to_step) {
  for (int64_t i = 0; i < 16; ++i) {
    for (int64_t j = 0; j < 16; ++j)
      to[j * to_step + i] = static_cast<uint8_t>(from[i * from_step + j] ^ toggle);
  }
}
#endif

void transpose(const uint8_t* from, int64_t from_step, int64_t rows, int64_t columns, uint8_t toggle,
               uint8_t* to, int64_t to_step) {
  const int64_t whole_rows = rows / 16 * 16, whole_columns = columns / 16 * 16;
  for (int64_t j = 0; j < whole_columns; j += 16) {
    for (int64_t i = 0; i < whole_rows; i += 16)
      transpose_block(from + i * from_step + j, from_step, toggle, to + j * to_step + i, to_step);
  }
  const auto rest = [&](int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
    for (int64_t i = row; i < row_end; ++i) {
      for (int64_t j = column; j < column_end; ++j)
        to[j * to_step + i] = static_cast<uint8_t>(from[i * from_step + j] ^ toggle);
    }
  };
  rest(0, whole_rows, whole_columns, columns);
  rest(whole_rows, rows, 0, columns);
}

// Sums wrap around, so they are computed without sign.
inline uint32_t bits_of(int32_t x) { return static_cast<uint32_t>(x); }

void correct(int32_t* c, int64_t n, int32_t row, const int32_t* columns, int32_t row_sum,
             const int32_t* zeros) {
  for (int64_t j = 0; j < n; ++j)
    c[j] = static_cast<int32_t>(bits_of(c[j]) + bits_of(row) * bits_of(columns[j]) +
                                bits_of(row_sum) * bits_of(zeros[j]));
}
void correct_columns(int32_t* c, int64_t n, int32_t row, const int32_t* columns) {
  for (int64_t j = 0; j < n; ++j)
    c[j] = static_cast<int32_t>(bits_of(c[j]) + bits_of(row) * bits_of(columns[j]));
}

/// min(max(round(x) + zero, low), high), ties to even; low for NaN. kBound is a power of two above high - low.
template <int kBound>
inline int32_t rounded(float x, const Rounding& to) {
  constexpr float bound = kBound;  // what is further away saturates
  float inside = x > -bound ? x : -bound;
  inside = inside < bound ? inside : bound;
  const float magic = 12582912.0f;  // 1.5 * 2^23: its last bit is worth 1
  float y = ((inside + magic) - magic) + to.zero;
  y = y > to.low ? y : to.low;
  y = y < to.high ? y : to.high;
  return static_cast<int32_t>(y);
}

void requantize_f64(const int32_t* c, int64_t n, const double* scale, const Rounding& to, uint8_t* y) {
  for (int64_t j = 0; j < n; ++j)
    y[j] = static_cast<uint8_t>(rounded<1024>(static_cast<float>(c[j] * scale[j]), to));
}
void requantize_f32(const int32_t* c, int64_t n, const float* scale, const Rounding& to, uint8_t* y) {
  for (int64_t j = 0; j < n; ++j)
    y[j] = static_cast<uint8_t>(rounded<1024>(static_cast<float>(c[j]) * scale[j], to));
}
void to_float(const int32_t* c, int64_t n, const float* scale, const float* bias, float* y) {
  if (bias == nullptr) {
    for (int64_t j = 0; j < n; ++j) y[j] = static_cast<float>(c[j]) * scale[j];
  } else {
    for (int64_t j = 0; j < n; ++j) y[j] = static_cast<float>(c[j]) * scale[j] + bias[j];
  }
}

template <class T, int kBound>
void quantize(const float* x, int64_t n, float scale, const Rounding& to, T* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(rounded<kBound>(x[i] / scale, to));
}

template <class T, int kBound>
void quantize_each(const float* x, int64_t n, const float* scales, const float* zeros, const Rounding& to,
                   T* y) {
  for (int64_t i = 0; i < n; ++i)
    y[i] = static_cast<T>(rounded<kBound>(x[i] / scales[i], Rounding{zeros[i], to.low, to.high}));
}

template <class T>
void dequantize(const T* x, int64_t n, float scale, float zero, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = (static_cast<float>(x[i]) - zero) * scale;
}

void depthwise(const uint8_t* const* x, int64_t taps, int64_t from, int64_t n, int16_t zero, const int16_t* w,
               int64_t w_step, int32_t* c) {
  constexpr int64_t kLanes = 32;
  w += from;
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    uint32_t sums[kLanes] = {};
    for (int64_t t = 0; t < taps; ++t) {
      const uint8_t* in = x[t] + from + j;
      const int16_t* factor = w + t * w_step + j;
      for (int64_t l = 0; l < kLanes; ++l)
        sums[l] += static_cast<uint32_t>(static_cast<int16_t>(in[l] - zero) * factor[l]);
    }
    for (int64_t l = 0; l < kLanes; ++l) c[j + l] = static_cast<int32_t>(sums[l]);
  }
  for (; j < n; ++j) {
    uint32_t total = 0;
    for (int64_t t = 0; t < taps; ++t)
      total += static_cast<uint32_t>(static_cast<int16_t>(x[t][from + j] - zero) * w[t * w_step + j]);
    c[j] = static_cast<int32_t>(total);
  }
}

}  // namespace

void fill_integer_rows(Integer& t) {
  t.copy = copy, t.sum = sum, t.transpose = transpose;
  t.correct = correct, t.correct_columns = correct_columns;
  t.requantize_f64 = requantize_f64, t.requantize_f32 = requantize_f32, t.to_float = to_float;
  t.quantize_8 = quantize<uint8_t, 1024>, t.quantize_16 = quantize<uint16_t, 262144>;
  t.quantize_each_8 = quantize_each<uint8_t, 1024>, t.quantize_each_16 = quantize_each<uint16_t, 262144>;
  t.dequantize_s8 = dequantize<int8_t>, t.dequantize_u8 = dequantize<uint8_t>;
  t.dequantize_s16 = dequantize<int16_t>, t.dequantize_u16 = dequantize<uint16_t>;
  t.depthwise = depthwise;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
