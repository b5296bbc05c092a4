// Loops over quantised elements: corrections of sums, quantising and dequantising, transposed copies.
#include "isa/integer.h"
#include "isa/parts.h"
#include "isa/vector.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

void copy(const uint8_t* from, int64_t n, uint8_t toggle, uint8_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<uint8_t>(from[i] ^ toggle);
}

void find(const int32_t* places, int64_t n, const uint8_t* from, int64_t step, const uint8_t* outside,
          const uint8_t** to) {
  int64_t i = 0;
#if defined(__AVX512F__)
  const __m512i base = _mm512_set1_epi64(reinterpret_cast<int64_t>(from)),
                none = _mm512_set1_epi64(reinterpret_cast<int64_t>(outside)), steps = _mm512_set1_epi64(step);
  for (; i + 8 <= n; i += 8) {
    const __m512i at =
        _mm512_cvtepi32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(places + i)));
    const __m512i address = _mm512_add_epi64(base, _mm512_mullo_epi64(at, steps));
    _mm512_storeu_si512(to + i, _mm512_mask_mov_epi64(address, _mm512_movepi64_mask(at), none));
  }
#endif
  for (; i < n; ++i) to[i] = places[i] < 0 ? outside : from + places[i] * step;
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
  for (int64_t i = 0; i < 16; ++i)
    x[i] = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_step)), bits);
  // Each step interleaves row i with row i + 8; after four of them rows are columns.
  for (int64_t i = 0; i < 8; ++i) {
    y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]);
    y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]);
  }
  for (int64_t i = 0; i < 8; ++i) {
    x[2 * i] = _mm_unpacklo_epi8(y[i], y[i + 8]);
    x[2 * i + 1] = _mm_unpackhi_epi8(y[i], y[i + 8]);
  }
  for (int64_t i = 0; i < 8; ++i) {
    y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]);
    y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]);
  }
  for (int64_t i = 0; i < 8; ++i) {
    x[2 * i] = _mm_unpacklo_epi8(y[i], y[i + 8]);
    x[2 * i + 1] = _mm_unpackhi_epi8(y[i], y[i + 8]);
  }
  for (int64_t i = 0; i < 16; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * to_step), x[i]);
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
  const auto rest = [&](int64_t i_from, int64_t i_to, int64_t j_from, int64_t j_to) {
    for (int64_t i = i_from; i < i_to; ++i) {
      for (int64_t j = j_from; j < j_to; ++j)
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
void correct_row(int32_t* c, int64_t n, int32_t row_sum, const int32_t* zeros) {
  for (int64_t j = 0; j < n; ++j)
    c[j] = static_cast<int32_t>(bits_of(c[j]) + bits_of(row_sum) * bits_of(zeros[j]));
}
inline int32_t plus(int32_t a, int32_t b) { return static_cast<int32_t>(bits_of(a) + bits_of(b)); }
void add(const int32_t* c, const int32_t* d, int64_t n, int32_t* y) {
  for (int64_t j = 0; j < n; ++j) y[j] = plus(c[j], d[j]);
}
void subtract_products(int32_t* c, int64_t n, const int32_t* a, const int32_t* b) {
  for (int64_t j = 0; j < n; ++j) c[j] = static_cast<int32_t>(bits_of(c[j]) - bits_of(a[j]) * bits_of(b[j]));
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

#if defined(__AVX512F__)
inline __m512i plus_16(const int32_t* a, const int32_t* b) {
  return _mm512_add_epi32(_mm512_loadu_si512(a), _mm512_loadu_si512(b));
}
#elif defined(__AVX2__)
inline __m128i plus_4(const int32_t* a, const int32_t* b) {
  return _mm_add_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a)),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)));
}
#endif
#if defined(__AVX2__)
inline __m256i plus_8(const int32_t* a, const int32_t* b) {
  return _mm256_add_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)));
}
#endif

// Where the floats that are rounded come from: one element, and a vector of them.
struct Sums64 {
  const int32_t *c, *d;
  const double* scale;
  float at(int64_t i) const { return static_cast<float>(plus(c[i], d[i]) * scale[i]); }
#if defined(__AVX512F__)
  __m512 vector(int64_t i) const {
    const __m256 low = half(i), high = half(i + 8);
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
  }
  __m256 half(int64_t i) const {
    return _mm512_cvtpd_ps(
        _mm512_mul_pd(_mm512_cvtepi32_pd(plus_8(c + i, d + i)), _mm512_loadu_pd(scale + i)));
  }
#elif defined(__AVX2__)
  __m256 vector(int64_t i) const { return _mm256_set_m128(half(i + 4), half(i)); }
  __m128 half(int64_t i) const {
    return _mm256_cvtpd_ps(
        _mm256_mul_pd(_mm256_cvtepi32_pd(plus_4(c + i, d + i)), _mm256_loadu_pd(scale + i)));
  }
#endif
};
struct Sums32 {
  const int32_t *c, *d;
  const float* scale;
  float at(int64_t i) const { return static_cast<float>(plus(c[i], d[i])) * scale[i]; }
#if defined(__AVX512F__)
  __m512 vector(int64_t i) const {
    return _mm512_mul_ps(_mm512_cvtepi32_ps(plus_16(c + i, d + i)), _mm512_loadu_ps(scale + i));
  }
#elif defined(__AVX2__)
  __m256 vector(int64_t i) const {
    return _mm256_mul_ps(_mm256_cvtepi32_ps(plus_8(c + i, d + i)), _mm256_loadu_ps(scale + i));
  }
#endif
};
struct Quotients {
  const float* x;
  float scale;
  float at(int64_t i) const { return x[i] / scale; }
#if defined(__AVX512F__)
  __m512 vector(int64_t i) const { return _mm512_div_ps(_mm512_loadu_ps(x + i), _mm512_set1_ps(scale)); }
#elif defined(__AVX2__)
  __m256 vector(int64_t i) const { return _mm256_div_ps(_mm256_loadu_ps(x + i), _mm256_set1_ps(scale)); }
#endif
};

struct ByteSums {
  const uint8_t *a, *b;
  float a_scale, b_scale, constant, least;  // of the quotient
  float at(int64_t i) const {
    const float x = a_scale * static_cast<float>(a[i]) + (b_scale * static_cast<float>(b[i]) + constant);
    return x > least ? x : least;
  }
#if defined(__AVX512F__)
  static __m512 floats(const uint8_t* x) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
  }
  __m512 vector(int64_t i) const {
    const __m512 y = _mm512_fmadd_ps(floats(b + i), _mm512_set1_ps(b_scale), _mm512_set1_ps(constant));
    return _mm512_max_ps(_mm512_fmadd_ps(floats(a + i), _mm512_set1_ps(a_scale), y), _mm512_set1_ps(least));
  }
#elif defined(__AVX2__)
  static __m256 floats(const uint8_t* x) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x))));
  }
  __m256 vector(int64_t i) const {
    const __m256 y = _mm256_fmadd_ps(floats(b + i), _mm256_set1_ps(b_scale), _mm256_set1_ps(constant));
    return _mm256_max_ps(_mm256_fmadd_ps(floats(a + i), _mm256_set1_ps(a_scale), y), _mm256_set1_ps(least));
  }
#endif
};

#if defined(__AVX512F__)
constexpr int64_t kRounded = 16;
/// Conversions round ties to even. max and min give their second argument for NaN.
inline __m512i round_vector(__m512 x, float bound, __m512i zero) {
  const __m512 inside = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-bound)), _mm512_set1_ps(bound));
  return _mm512_add_epi32(_mm512_cvtps_epi32(inside), zero);
}
inline void store_signed(__m512i x, uint8_t* y) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm512_cvtsepi32_epi8(x));
}
inline void store_unsigned(__m512i x, uint8_t* y) {
  const __m512i inside = _mm512_max_epi32(x, _mm512_setzero_si512());
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm512_cvtusepi32_epi8(inside));
}
inline void store_signed(__m512i x, uint16_t* y) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtsepi32_epi16(x));
}
inline void store_unsigned(__m512i x, uint16_t* y) {
  const __m512i inside = _mm512_max_epi32(x, _mm512_setzero_si512());
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtusepi32_epi16(inside));
}
/// 64 numbers plus their zero point, which is added to words: those saturate as the bytes do afterwards.
inline void store_64(const __m512i* x, __m512i zeros, uint8_t* y) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(x[0], x[1]), zeros),
                high = _mm512_adds_epi16(_mm512_packs_epi32(x[2], x[3]), zeros);
  // Packing works within parts of 16 bytes: their quads are put in order.
  _mm512_storeu_si512(y, _mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high)));
}
#define TENON_ZEROS(zero) _mm512_set1_epi32(zero)
#elif defined(__AVX2__)
constexpr int64_t kRounded = 8;
inline __m256i round_vector(__m256 x, float bound, __m256i zero) {
  const __m256 inside = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-bound)), _mm256_set1_ps(bound));
  return _mm256_add_epi32(_mm256_cvtps_epi32(inside), zero);
}
inline __m128i to_16_bits(__m256i x) {
  return _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}
inline void store_signed(__m256i x, uint8_t* y) {
  const __m128i words = to_16_bits(x);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_packs_epi16(words, words));
}
inline void store_unsigned(__m256i x, uint8_t* y) {
  const __m128i words = to_16_bits(x);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_packus_epi16(words, words));
}
inline void store_signed(__m256i x, uint16_t* y) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), to_16_bits(x));
}
inline void store_unsigned(__m256i x, uint16_t* y) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y),
                   _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
}
#define TENON_ZEROS(zero) _mm256_set1_epi32(zero)
#endif

template <int kBound, class From, class T>
inline void round_all(const From& from, int64_t n, const Rounding& to, T* y) {
  int64_t i = 0;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 1) {
    const __m512i zeros = _mm512_set1_epi16(static_cast<int16_t>(to.zero)), none = _mm512_setzero_si512();
    for (; to.low == 0 && i + 64 <= n; i += 64) {
      __m512i x[4];
      for (int64_t v = 0; v < 4; ++v) x[v] = round_vector(from.vector(i + 16 * v), kBound, none);
      store_64(x, zeros, y + i);
    }
  }
#endif
#if defined(__AVX2__)
  const auto zero = TENON_ZEROS(static_cast<int32_t>(to.zero));
  if (to.low < 0) {
    for (; i + kRounded <= n; i += kRounded) store_signed(round_vector(from.vector(i), kBound, zero), y + i);
  } else {
    for (; i + kRounded <= n; i += kRounded)
      store_unsigned(round_vector(from.vector(i), kBound, zero), y + i);
  }
#endif
  for (; i < n; ++i) y[i] = static_cast<T>(rounded<kBound>(from.at(i), to));
}

void requantize_f64(const int32_t* c, const int32_t* d, int64_t n, const double* scale, const Rounding& to,
                    uint8_t* y) {
  round_all<1024>(Sums64{c, d, scale}, n, to, y);
}
#if defined(__AVX512F__)
/// 64 columns to bytes without sign.
void requantize_64(const int32_t* c, int64_t ldc, int64_t rows, const int32_t* d, const float* scale,
                   float zero, uint8_t* y, int64_t ldy) {
  const __m512 bound = _mm512_set1_ps(1024);
  const __m512i zeros = _mm512_set1_epi16(static_cast<int16_t>(zero));
  __m512i plus[4];
  __m512 factor[4];
  for (int64_t v = 0; v < 4; ++v)
    plus[v] = _mm512_loadu_si512(d + 16 * v), factor[v] = _mm512_loadu_ps(scale + 16 * v);
  for (int64_t i = 0; i < rows; ++i) {
    __m512i x[4];
    for (int64_t v = 0; v < 4; ++v) {
      const __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(c + i * ldc + 16 * v), plus[v]);
      const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), factor[v]);
      x[v] =
          _mm512_cvtps_epi32(_mm512_min_ps(product, bound));  // what is far below 0 becomes the least number
    }
    store_64(x, zeros, y + i * ldy);
  }
}
#endif

void requantize_f32(const int32_t* c, int64_t ldc, int64_t rows, const int32_t* d, int64_t n,
                    const float* scale, const Rounding& to, uint8_t* y, int64_t ldy) {
#if defined(__AVX512F__)
  if (n == kTileColumns && to.low == 0) return requantize_64(c, ldc, rows, d, scale, to.zero, y, ldy);
#endif
  for (int64_t i = 0; i < rows; ++i) round_all<1024>(Sums32{c + i * ldc, d, scale}, n, to, y + i * ldy);
}
void add_quantized(const uint8_t* a, const uint8_t* b, int64_t n, const QuantizedSum& s, uint8_t* y) {
  const float a_scale = s.a_scale / s.scale, b_scale = s.b_scale / s.scale;
  const float constant = -(a_scale * s.a_zero + b_scale * s.b_zero);
  int64_t i = 0;
#if defined(__AVX512F__)
  // No sum is too large for a conversion, and the bound from below is that of bytes.
  const float most = 255 * (__builtin_fabsf(a_scale) + __builtin_fabsf(b_scale)) + __builtin_fabsf(constant);
  if (most < 0x1p30f && (s.least < 0 || s.to.zero == 0)) {
    const __m512 a_scales = _mm512_set1_ps(a_scale), b_scales = _mm512_set1_ps(b_scale),
                 constants = _mm512_set1_ps(constant);
    const __m512i zeros = _mm512_set1_epi16(static_cast<int16_t>(s.to.zero));
    for (; i + 64 <= n; i += 64) {
      __m512i x[4];
      for (int64_t v = 0; v < 4; ++v) {
        const __m512 part = _mm512_fmadd_ps(ByteSums::floats(b + i + 16 * v), b_scales, constants);
        x[v] = _mm512_cvtps_epi32(_mm512_fmadd_ps(ByteSums::floats(a + i + 16 * v), a_scales, part));
      }
      store_64(x, zeros, y + i);
    }
  }
#endif
  round_all<1024>(ByteSums{a + i, b + i, a_scale, b_scale, constant, s.least}, n - i, s.to, y + i);
}
typedef uint8_t ByteVector __attribute__((vector_size(TENON_ISA_BYTES)));
void greatest(const uint8_t* const* rows, int64_t taps, int64_t from, int64_t n, uint8_t* y) {
  constexpr int64_t kBlock = sizeof(ByteVector);
  int64_t j = 0;
  for (; j + kBlock <= n; j += kBlock) {
    ByteVector most{};
    for (int64_t t = 0; t < taps; ++t) {
      ByteVector x;
      __builtin_memcpy(&x, rows[t] + from + j, kBlock);
      most = x > most ? x : most;
    }
    __builtin_memcpy(y + j, &most, kBlock);
  }
  for (; j < n; ++j) {
    uint8_t most = 0;
    for (int64_t t = 0; t < taps; ++t) most = rows[t][from + j] > most ? rows[t][from + j] : most;
    y[j] = most;
  }
}
void to_float(const int32_t* c, const int32_t* d, int64_t n, const float* scale, const float* bias,
              float* y) {
  if (bias == nullptr) {
    for (int64_t j = 0; j < n; ++j) y[j] = static_cast<float>(plus(c[j], d[j])) * scale[j];
  } else {
    for (int64_t j = 0; j < n; ++j) y[j] = static_cast<float>(plus(c[j], d[j])) * scale[j] + bias[j];
  }
}

template <class T, int kBound>
void quantize(const float* x, int64_t n, float scale, const Rounding& to, T* y) {
  round_all<kBound>(Quotients{x, scale}, n, to, y);
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

}  // namespace

void fill_integer_rows(Integer& t) {
  t.find = find, t.copy = copy, t.sum = sum, t.transpose = transpose;
  t.correct = correct, t.correct_row = correct_row, t.add = add, t.subtract_products = subtract_products;
  t.requantize_f64 = requantize_f64, t.requantize_f32 = requantize_f32, t.to_float = to_float;
  t.add_quantized = add_quantized, t.greatest = greatest;
  t.quantize_8 = quantize<uint8_t, 1024>, t.quantize_16 = quantize<uint16_t, 262144>;
  t.quantize_each_8 = quantize_each<uint8_t, 1024>, t.quantize_each_16 = quantize_each<uint16_t, 262144>;
  t.dequantize_s8 = dequantize<int8_t>, t.dequantize_u8 = dequantize<uint8_t>;
  t.dequantize_s16 = dequantize<int16_t>, t.dequantize_u16 = dequantize<uint16_t>;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
