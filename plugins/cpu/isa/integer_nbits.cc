#include "isa/integer_nbits.h"

#include <cstddef>

#include "isa/parts.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tenon::cpu::isa {
namespace TENON_ISA_NAMESPACE {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kLanes = 16;
#elif defined(__AVX2__)
constexpr int64_t kLanes = 8;
#else
constexpr int64_t kLanes = 4;
#endif
using Floats = float __attribute__((vector_size(kLanes * 4)));
using Words = uint32_t __attribute__((vector_size(kLanes * 4)));
using Ints = int32_t __attribute__((vector_size(kLanes * 4)));
using Bytes = int8_t __attribute__((vector_size(16)));

template <class V, class T>
TENON_INLINED static inline V load(const T* from) {
  V out;
  __builtin_memcpy(&out, from, sizeof(out));
  return out;
}
template <class V, class T>
TENON_INLINED static inline void store(T* to, const V& x) {
  __builtin_memcpy(to, &x, sizeof(x));
}
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int shift_of(int64_t power) { return __builtin_ctzll(static_cast<unsigned long long>(power)); }

enum Zeros { kNone, kBytes, kReal };
static inline Zeros zeros_of(const NBitsPanels& w) {
  return w.zeros != nullptr ? kBytes : w.float_zeros != nullptr ? kReal : kNone;
}
/// Zero points of one vector of columns.
template <Zeros kZeros>
TENON_INLINED static inline Floats zeros_at(const NBitsPanels& w, int64_t at) {
  if constexpr (kZeros == kReal) return load<Floats>(w.float_zeros + at);
#if defined(__AVX512F__)
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load<__m128i>(w.zeros + at)));
#elif defined(__AVX2__)
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)(w.zeros + at))));
#else
  using Few = int8_t __attribute__((vector_size(kLanes)));
  return __builtin_convertvector(load<Few>(w.zeros + at), Floats);
#endif
}

/// Calls f with the width of weights and the form of zero points as constants.
template <int kBits, class F>
static inline void with_zeros(const NBitsPanels& w, F f) {
  switch (zeros_of(w)) {
    case kNone:
      return f.template operator()<kBits, kNone>();
    case kBytes:
      return f.template operator()<kBits, kBytes>();
    default:
      return f.template operator()<kBits, kReal>();
  }
}
template <class F>
static inline void with_form(const NBitsPanels& w, F f) {
  if (w.bits == 2) return with_zeros<2>(w, f);
  if (w.bits == 4) return with_zeros<4>(w, f);
  with_zeros<8>(w, f);
}

// ---- Digits ----

/// The largest integer, whose digits are all 127.
template <int kDigits>
constexpr double kLargest = kDigits == 1 ? 127 : 127 * (65536 + 256 + 1);

/// What the integer 1 stands for in a part with that largest element. Of three digits it is a power of two: elements with few bits, as
/// those that were float16, are then exact.
template <int kDigits>
static inline double unit_of(double largest) {
  if (kDigits == 1 || largest == 0) return largest / kLargest<kDigits>;
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &largest, 8);
  bits &= uint64_t{0x7ff} << 52;  // the power of two below, which is normal for the smallest of float32
  double power = 0;
  __builtin_memcpy(&power, &bits, 8);
  const double unit = power * 0x1p-22;
  return largest <= unit * kLargest<kDigits> ? unit : unit * 2;
}

/// The digits of a group in the order in which weights meet them: four at a time, those at the same bits of the bytes of a word.
template <int kBits>
TENON_INLINED static inline Bytes in_order(const Bytes& x) {
  if constexpr (kBits == 8) return x;
  if constexpr (kBits == 4)
    return __builtin_shufflevector(x, x, 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
  return __builtin_shufflevector(x, x, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}

/// The digits of 16 elements, and their sums.
template <int kBits, int kDigits>
TENON_INLINED static inline void digits_of(const float* x, double units, int8_t* to,
                                           int32_t (&sums)[kDigits]) {
  int32_t q[kNBitsGroup];
  for (int64_t i = 0; i < kNBitsGroup; ++i) {
    const double value = static_cast<double>(x[i]) * units;
    q[i] = static_cast<int32_t>(value + (value < 0 ? -0.5 : 0.5));
  }
  for (int64_t d = 0; d < kDigits; ++d) {
    Bytes digits;
    int32_t sum = 0;
    for (int64_t i = 0; i < kNBitsGroup; ++i) {
      const auto digit = static_cast<int8_t>(q[i]);
      digits[i] = digit;
      sum += digit;
      q[i] = (q[i] - digit) >> 8;
    }
    sums[d] += sum;
    store(to + d * kNBitsGroup, in_order<kBits>(digits));
  }
}

template <int kBits, int kDigits>
bool lay_out_digits(const NBitsPanels& w, const float* row, int8_t* digits, NBitsPart* parts) {
  const int64_t part_size = w.part();
  for (int64_t first = 0; first < w.depth; first += part_size, ++parts) {
    const int64_t length = least(part_size, w.depth - first);
    const float* const x = row + first;
    uint32_t most = 0;
    for (int64_t i = 0; i < length; ++i) {
      uint32_t bits = 0;
      __builtin_memcpy(&bits, x + i, 4);
      bits &= 0x7fffffffu;
      most = bits > most ? bits : most;
    }
    if (most >= 0x7f800000u) return false;
    float largest = 0;
    __builtin_memcpy(&largest, &most, 4);
    const double unit = unit_of<kDigits>(static_cast<double>(largest)), units = unit > 0 ? 1 / unit : 0;
    int32_t sums[kDigits] = {};
    for (int64_t i = 0; i < length; i += kNBitsGroup, digits += kDigits * kNBitsGroup) {
      if (i + kNBitsGroup <= length) {
        digits_of<kBits, kDigits>(x + i, units, digits, sums);
      } else {
        float last[kNBitsGroup] = {};
        __builtin_memcpy(last, x + i, static_cast<size_t>(length - i) * 4);
        digits_of<kBits, kDigits>(last, units, digits, sums);
      }
    }
    double sum = 0, power = unit;
    for (int64_t d = 0; d < kDigits; ++d, power *= 256) {
      parts->units[d] = static_cast<float>(power);
      parts->starts[d] = -(sums[d] * (1 << (kBits - 1)));
      sum += sums[d] * power;
    }
    parts->sum = static_cast<float>(sum);
  }
  return true;
}

template <int kBits>
bool lay_out_bits(const NBitsPanels& w, const float* row, int8_t* digits, NBitsPart* parts) {
  return w.digits == 1 ? lay_out_digits<kBits, 1>(w, row, digits, parts)
                       : lay_out_digits<kBits, kNBitsDigits>(w, row, digits, parts);
}

bool lay_out(const NBitsPanels& w, const float* row, int8_t* digits, NBitsPart* parts) {
  if (w.bits == 2) return lay_out_bits<2>(w, row, digits, parts);
  if (w.bits == 4) return lay_out_bits<4>(w, row, digits, parts);
  return lay_out_bits<8>(w, row, digits, parts);
}

// ---- Products of digits ----

#if defined(__AVX2__)

#if defined(__AVX512F__)
using Vector = __m512i;
TENON_INLINED static inline Vector all_of(int32_t x) { return _mm512_set1_epi32(x); }
TENON_INLINED static inline Vector low_bits(Vector x, int mask) {
  return _mm512_and_si512(x, _mm512_set1_epi8(static_cast<char>(mask)));
}
TENON_INLINED static inline Vector shifted(Vector x, unsigned by) { return _mm512_srli_epi32(x, by); }
#else
using Vector = __m256i;
TENON_INLINED static inline Vector all_of(int32_t x) { return _mm256_set1_epi32(x); }
TENON_INLINED static inline Vector low_bits(Vector x, int mask) {
  return _mm256_and_si256(x, _mm256_set1_epi8(static_cast<char>(mask)));
}
TENON_INLINED static inline Vector shifted(Vector x, unsigned by) {
  return _mm256_srli_epi32(x, static_cast<int>(by));
}
#endif

/// Calls f with four weights of each column at a time, and with their number in the group.
template <int kBits, class F>
TENON_INLINED static inline void each_quad(const uint32_t* words, F f) {
  constexpr int kPerByte = 8 / kBits;
#pragma GCC unroll 4
  for (int word = 0; word < kBits / 2; ++word) {
    const auto bytes = load<Vector>(words + word * kNBitsColumns);
    __builtin_prefetch(words + word * kNBitsColumns + 1024);
#pragma GCC unroll 4
    for (int i = 0; i < kPerByte; ++i) {
      f(word * kPerByte + i,
        kBits == 8 ? bytes : low_bits(shifted(bytes, static_cast<unsigned>(i * kBits)), (1 << kBits) - 1));
    }
  }
}

/// Calls f with each sum, and with the four digits that a quad of weights meets for it.
template <int kRows, int kDigits, class F>
TENON_INLINED static inline void each_sum(const int8_t* digits, int64_t step, int quad,
                                          Vector (&sums)[kRows][kDigits], F f) {
#pragma GCC unroll 4
  for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int64_t d = 0; d < kDigits; ++d)
      f(sums[r][d], all_of(load<int32_t>(digits + r * step + d * kNBitsGroup + int64_t{4} * quad)));
  }
}

#if defined(__AVX512VNNI__)

/// Adds the products of `groups` groups of weights with each digit, per column.
template <int kBits, int kRows, int kDigits>
TENON_INLINED static inline void add_groups(const uint32_t* words, const int8_t* digits, int64_t step,
                                            int64_t groups, Vector (&sums)[kRows][kDigits]) {
  for (int64_t g = 0; g < groups; ++g) {
    each_quad<kBits>(words, [&](int quad, Vector weights) TENON_INLINED {
      each_sum<kRows, kDigits>(digits, step, quad, sums, [&](Vector& sum, Vector four) TENON_INLINED {
        sum = _mm512_dpbusd_epi32(sum, weights, four);
      });
    });
    words += kBits / 2 * kNBitsColumns, digits += kDigits * kNBitsGroup;
  }
}

#else

#if defined(__AVX512F__)
TENON_INLINED static inline void add_pairs(Vector& sum, Vector weights, Vector digits) {
  sum = _mm512_add_epi16(sum, _mm512_maddubs_epi16(weights, digits));
}
TENON_INLINED static inline void add_times(Vector& sum, Vector pairs, int times) {
  sum = _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(static_cast<short>(times))));
}
#else
TENON_INLINED static inline void add_pairs(Vector& sum, Vector weights, Vector digits) {
  sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(weights, digits));
}
TENON_INLINED static inline void add_times(Vector& sum, Vector pairs, int times) {
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(static_cast<short>(times))));
}
#endif

/// As above. Sums of pairs have 16 bits, which hold those of two groups if weights have 4: at most 8 * 2 * 15 * 128. So the halves of
/// weights of 8 bits have sums of their own.
template <int kBits, int kRows, int kDigits>
TENON_INLINED static inline void add_groups(const uint32_t* words, const int8_t* digits, int64_t step,
                                            int64_t groups, Vector (&sums)[kRows][kDigits]) {
  constexpr int64_t kAtOnce = 2;
  for (int64_t begin = 0; begin < groups; begin += kAtOnce) {
    Vector low[kRows][kDigits] = {}, high[kRows][kDigits] = {};
    for (int64_t g = begin; g < least(groups, begin + kAtOnce); ++g) {
      each_quad<kBits>(words, [&](int quad, Vector weights) TENON_INLINED {
        const Vector near = kBits == 8 ? low_bits(weights, 15) : weights;
        each_sum<kRows, kDigits>(digits, step, quad, low,
                                 [&](Vector& sum, Vector four) TENON_INLINED { add_pairs(sum, near, four); });
        if constexpr (kBits == 8) {
          const Vector far = low_bits(shifted(weights, 4), 15);
          each_sum<kRows, kDigits>(digits, step, quad, high, [&](Vector& sum, Vector four) TENON_INLINED {
            add_pairs(sum, far, four);
          });
        }
      });
      words += kBits / 2 * kNBitsColumns, digits += kDigits * kNBitsGroup;
    }
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t d = 0; d < kDigits; ++d) {
        add_times(sums[r][d], low[r][d], 1);
        if constexpr (kBits == 8) add_times(sums[r][d], high[r][d], 16);
      }
    }
  }
}

#endif

/// Rows times one panel.
template <int kBits, Zeros kZeros, int kDigits, int kRows>
void multiply_panel(const NBitsPanels& w, int64_t panel, const int8_t* digits, const NBitsPart* parts,
                    float* y, int64_t y_step, int64_t columns) {
  constexpr int64_t kVectors = kNBitsColumns / kLanes;
  const int64_t step = w.digit_bytes(), all_parts = w.parts(), all_groups = w.groups();
  const int64_t part_groups = w.part() / kNBitsGroup;
  const int shift = shift_of(w.block_size / w.part());
  const uint32_t* words = w.words + panel * w.column_words() * kNBitsColumns;
  const int64_t first_block = panel * w.blocks();
  Floats out[kVectors][kRows] = {};
  for (int64_t p = 0; p < all_parts; ++p) {
    const int64_t groups = least(part_groups, all_groups - p * part_groups);
    const int64_t at = (first_block + (p >> shift)) * kNBitsColumns;
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; ++v) {
      Vector sums[kRows][kDigits];
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
        for (int64_t d = 0; d < kDigits; ++d) sums[r][d] = all_of(parts[r * all_parts + p].starts[d]);
      }
      add_groups<kBits, kRows, kDigits>(words + v * kLanes, digits, step, groups, sums);
      const auto scale = load<Floats>(w.scales + at + v * kLanes);
      Floats zero{};
      if constexpr (kZeros != kNone) zero = zeros_at<kZeros>(w, at + v * kLanes);
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) {
        const NBitsPart& part = parts[r * all_parts + p];
        Floats product{};
#pragma GCC unroll 3
        for (int64_t d = 0; d < kDigits; ++d)
          product += __builtin_convertvector((Ints)sums[r][d], Floats) * part.units[d];
        if constexpr (kZeros != kNone) product -= zero * part.sum;
        out[v][r] += product * scale;
      }
    }
    words += groups * kBits / 2 * kNBitsColumns, digits += groups * kDigits * kNBitsGroup;
  }
  for (int64_t r = 0; r < kRows; ++r) {
    float line[kNBitsColumns];
    for (int64_t v = 0; v < kVectors; ++v) store(line + v * kLanes, out[v][r]);
    __builtin_memcpy(y + r * y_step, line, static_cast<size_t>(least(columns, kNBitsColumns)) * 4);
  }
}

template <int kBits, Zeros kZeros, int kDigits, int kRows>
void multiply_panels(const NBitsPanels& w, int64_t begin, int64_t end, const int8_t* digits,
                     const NBitsPart* parts, float* y, int64_t y_step, int64_t columns) {
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t column = panel * kNBitsColumns;
    multiply_panel<kBits, kZeros, kDigits, kRows>(w, panel, digits, parts, y + column, y_step,
                                                  columns - column);
  }
}

template <int kBits, Zeros kZeros, int kDigits>
void multiply_rows(const NBitsPanels& w, int64_t begin, int64_t end, const int8_t* digits,
                   const NBitsPart* parts, int64_t rows, float* y, int64_t y_step, int64_t columns) {
  switch (rows) {
    case 1:
      return multiply_panels<kBits, kZeros, kDigits, 1>(w, begin, end, digits, parts, y, y_step, columns);
    case 2:
      return multiply_panels<kBits, kZeros, kDigits, 2>(w, begin, end, digits, parts, y, y_step, columns);
    case 3:
      return multiply_panels<kBits, kZeros, kDigits, 3>(w, begin, end, digits, parts, y, y_step, columns);
    default:
      return multiply_panels<kBits, kZeros, kDigits, 4>(w, begin, end, digits, parts, y, y_step, columns);
  }
}

void multiply(const NBitsPanels& w, int64_t begin, int64_t end, const int8_t* digits, const NBitsPart* parts,
              int64_t rows, float* y, int64_t y_step, int64_t columns) {
  with_form(w, [&]<int kBits, Zeros kZeros>() {
    if (w.digits == 1) {
      multiply_rows<kBits, kZeros, 1>(w, begin, end, digits, parts, rows, y, y_step, columns);
    } else {
      multiply_rows<kBits, kZeros, kNBitsDigits>(w, begin, end, digits, parts, rows, y, y_step, columns);
    }
  });
}

#endif  // __AVX2__

// ---- Weights as floats ----

/// Weight `e` of each word, minus 2^(bits - 1).
template <int kBits>
TENON_INLINED static inline Floats weight_of(const Words& words, int64_t e) {
  constexpr uint32_t kMask = (1u << kBits) - 1;
  constexpr int32_t kHalf = 1 << (kBits - 1);
#if defined(__AVX512F__)
  if constexpr (
      kBits <=
      4) {  // the lowest 4 bits of a lane choose from the table; of 2-bit weights the upper two are ignored
    constexpr auto at = [](int i) {
      return static_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(i) & kMask) - kHalf);
    };
    const __m512 table = _mm512_setr_ps(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9),
                                        at(10), at(11), at(12), at(13), at(14), at(15));
    return _mm512_permutexvar_ps((__m512i)(words >> static_cast<uint32_t>(e * kBits)), table);
  }
#endif
  const Words q = (words >> static_cast<uint32_t>(e * kBits)) & kMask;
  return __builtin_convertvector((Ints)q - kHalf, Floats);
}

/// As NBits::unpack, for one vector of columns; `lane` is the first one's place in its panel.
template <int kBits, Zeros kZeros>
void unpack_lanes(const NBitsPanels& w, int64_t panel, int64_t lane, int64_t first, int64_t last, float* to,
                  int64_t step) {
  constexpr int64_t kPerWord = 32 / kBits;
  const int shift = shift_of(w.block_size);
  const uint32_t* const words = w.words + panel * w.column_words() * kNBitsColumns + lane;
  for (int64_t k = first; k < last;) {
    const int64_t block = k >> shift, end = least(last, (block + 1) << shift);
    const int64_t at = (panel * w.blocks() + block) * kNBitsColumns + lane;
    const auto scale = load<Floats>(w.scales + at);
    Floats zero{};
    if constexpr (kZeros != kNone) zero = zeros_at<kZeros>(w, at);
    for (; k < end; k += kPerWord) {
      const auto word = load<Words>(words + k / kPerWord * kNBitsColumns);
      const int64_t count = least(kPerWord, end - k);
      const auto put = [&](int64_t e) TENON_INLINED {
        Floats weight = weight_of<kBits>(word, e);
        if constexpr (kZeros != kNone) weight -= zero;
        store(to + (k - first + e) * step, weight * scale);
      };
      if (count == kPerWord) {
#pragma GCC unroll 16
        for (int64_t e = 0; e < kPerWord; ++e) put(e);
      } else {
        for (int64_t e = 0; e < count; ++e) put(e);
      }
    }
    k = end;
  }
}

void unpack(const NBitsPanels& w, int64_t column, int64_t count, int64_t first, int64_t last, float* to,
            int64_t step) {
  with_form(w, [&]<int kBits, Zeros kZeros>() {
    for (int64_t j = 0; j < count; j += kLanes) {
      const int64_t at = column + j;
      unpack_lanes<kBits, kZeros>(w, at / kNBitsColumns, at % kNBitsColumns, first, last, to + j, step);
    }
  });
}

[[maybe_unused]] constexpr int64_t kAlways = int64_t{1} << 40;

int64_t most_rows([[maybe_unused]] int64_t bits, [[maybe_unused]] int64_t digits) {
#if defined(__AVX512VNNI__)
  return kAlways;
#elif defined(__AVX2__)
  if (digits == 1) return bits == 8 && kLanes == 8 ? 16 : kAlways;
  return bits == 8 ? 2 : 4;
#else
  return 0;
#endif
}

#if defined(__AVX2__)
constexpr NBits kNBits = {most_rows, lay_out, multiply, unpack};
#else
constexpr NBits kNBits = {most_rows, lay_out, nullptr, unpack};
#endif

}  // namespace
}  // namespace TENON_ISA_NAMESPACE

const NBits& TENON_ISA_JOIN_(nbits_, TENON_ISA)() { return TENON_ISA_NAMESPACE::kNBits; }

}  // namespace tenon::cpu::isa
