#include "isa/nbits.h"

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
constexpr int64_t kParts = kChunkLanes / kLanes;  // vectors that a chunk's lanes take
using Floats = float __attribute__((vector_size(kLanes * 4)));
using Words = uint32_t __attribute__((vector_size(kLanes * 4)));
using Ints = int32_t __attribute__((vector_size(kLanes * 4)));

template <class V, class T>
TENON_INLINED static inline V load(const T* from) {
  V out;
  __builtin_memcpy(&out, from, sizeof(out));
  return out;
}
TENON_INLINED static inline void store(float* to, const Floats& x) { __builtin_memcpy(to, &x, sizeof(x)); }

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

/// The chunks of a column that have all their bytes.
TENON_INLINED static inline int64_t whole_chunks(const NBitsColumns& w) {
  const int64_t whole = w.column_bytes() / (kChunkLanes * 4), chunks = w.chunks();
  return whole < chunks ? whole : chunks;
}

enum Zeros { kNone, kBytes, kReal };
TENON_INLINED static inline Zeros zeros_of(const NBitsColumns& w) {
  return w.zeros != nullptr ? kBytes : w.float_zeros != nullptr ? kReal : kNone;
}

/// Gives each lane of a vector the number of its block.
template <int kBits>
struct Spread {
  static constexpr int64_t kElements = 32 / kBits;
  int count = 0;  // blocks that a vector reaches
  int32_t block[kLanes];
#if defined(__AVX512F__)
  __m512i at;
  __mmask16 mask;
#elif defined(__AVX2__)
  __m256i at, mask;
#endif

  explicit Spread(int shift) {
    for (int64_t l = 0; l < kLanes; ++l) block[l] = static_cast<int32_t>((l * kElements) >> shift);
    count = block[kLanes - 1] + 1;
#if defined(__AVX512F__)
    at = _mm512_loadu_si512(block);
    mask = static_cast<__mmask16>((1u << count) - 1);
#elif defined(__AVX2__)
    at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
    mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
#endif
  }

  TENON_INLINED static inline Floats of(const Spread& s, const float* from) {
#if defined(__AVX512F__)
    return _mm512_permutexvar_ps(s.at, _mm512_maskz_loadu_ps(s.mask, from));
#elif defined(__AVX2__)
    return _mm256_permutevar8x32_ps(_mm256_maskload_ps(from, s.mask), s.at);
#else
    Floats out;
    for (int64_t l = 0; l < kLanes; ++l) out[l] = from[s.block[l]];
    return out;
#endif
  }
  TENON_INLINED static inline Floats of(const Spread& s, const int8_t* from) {
#if defined(__AVX512F__)
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm512_permutexvar_ps(s.at, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)));
#elif defined(__AVX2__)
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return _mm256_permutevar8x32_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), s.at);
#else
    Floats out;
    for (int64_t l = 0; l < kLanes; ++l) out[l] = static_cast<float>(from[s.block[l]]);
    return out;
#endif
  }
};

/// One vector of words of a column, with what belongs to its lanes.
template <int kBits, Zeros kZeros>
struct Lanes {
  static constexpr int64_t kElements = kLanes * 32 / kBits;
  Words words;
  Floats scale, zero;

  /// Vector `at` of a column that has all its lanes.
  TENON_INLINED static inline Lanes of(const NBitsColumns& w, const Spread<kBits>& spread, int shift,
                                       int64_t at) {
    const int64_t block = at * kElements >> shift;
    Lanes out;
    out.words = load<Words>(w.bytes + at * kLanes * 4);
    out.scale = Spread<kBits>::of(spread, w.scales + block);
    if constexpr (kZeros == kBytes) out.zero = Spread<kBits>::of(spread, w.zeros + block);
    if constexpr (kZeros == kReal) out.zero = Spread<kBits>::of(spread, w.float_zeros + block);
    return out;
  }

  /// The last vectors of a column. Lanes without weights have the scale 0.
  TENON_INLINED static inline Lanes at_end(const NBitsColumns& w, int shift, int64_t at) {
    const int64_t bytes = w.column_bytes() - at * kLanes * 4;
    Lanes out;
    out.words = Words{};
    out.scale = out.zero = Floats{};
    if (bytes > 0)
      __builtin_memcpy(&out.words, w.bytes + at * kLanes * 4,
                       static_cast<size_t>(bytes < kLanes * 4 ? bytes : kLanes * 4));
    for (int64_t l = 0; l < kLanes; ++l) {
      const int64_t block = (at * kElements + l * (32 / kBits)) >> shift;
      if (block >= w.blocks) break;
      out.scale[l] = w.scales[block];
      if constexpr (kZeros == kBytes) out.zero[l] = static_cast<float>(w.zeros[block]);
      if constexpr (kZeros == kReal) out.zero[l] = w.float_zeros[block];
    }
    return out;
  }
};

TENON_INLINED static inline float total(const Floats& x) {
  float sum = 0;
  for (int64_t l = 0; l < kLanes; ++l) sum += x[l];
  return sum;
}

/// Adds the products of one vector of a column and a laid-out row.
template <int kBits, Zeros kZeros, int kRows>
TENON_INLINED static inline void add(const Lanes<kBits, kZeros>& lanes, const float* const* rows, int64_t at,
                                     int64_t sums_at, const float* const* sums, Floats* out) {
  Floats product[kRows] = {};
#pragma GCC unroll 16
  for (int64_t e = 0; e < 32 / kBits; ++e) {
    const Floats weight = weight_of<kBits>(lanes.words, e);
#pragma GCC unroll 4
    for (int64_t i = 0; i < kRows; ++i) product[i] += weight * load<Floats>(rows[i] + at + e * kChunkLanes);
  }
#pragma GCC unroll 4
  for (int64_t i = 0; i < kRows; ++i) {
    if constexpr (kZeros != kNone) product[i] -= lanes.zero * load<Floats>(sums[i] + sums_at);
    out[i] += lanes.scale * product[i];
  }
}

/// Rows times a column, with the weights of a vector unpacked once.
template <int kBits, Zeros kZeros, int kRows>
void dot(const NBitsColumns& w, const Spread<kBits>& spread, const float* a, int64_t a_step,
         const float* sums, int64_t sums_step, float* y, int64_t y_step) {
  constexpr int64_t kElements = 32 / kBits;
  const int shift = __builtin_ctzll(static_cast<unsigned long long>(w.block_size));
  const float *rows[kRows], *row_sums[kRows];
  for (int64_t i = 0; i < kRows; ++i) rows[i] = a + i * a_step, row_sums[i] = sums + i * sums_step;
  Floats out[kRows] = {};
  const int64_t whole = whole_chunks(w), chunks = w.chunks();
  for (int64_t c = 0; c < whole; ++c) {
#pragma GCC unroll 4
    for (int64_t part = 0; part < kParts; ++part)
      add<kBits, kZeros, kRows>(Lanes<kBits, kZeros>::of(w, spread, shift, c * kParts + part), rows,
                                c * kChunkLanes * kElements + part * kLanes, c * kChunkLanes + part * kLanes,
                                row_sums, out);
  }
  if (whole < chunks) {
    for (int64_t part = 0; part < kParts; ++part)
      add<kBits, kZeros, kRows>(Lanes<kBits, kZeros>::at_end(w, shift, whole * kParts + part), rows,
                                whole * kChunkLanes * kElements + part * kLanes,
                                whole * kChunkLanes + part * kLanes, row_sums, out);
  }
  for (int64_t i = 0; i < kRows; ++i) y[i * y_step] = total(out[i]);
}

template <int kBits, Zeros kZeros, int kRows>
void rows_by_columns(const NBitsColumns& w, int64_t columns, const float* a, int64_t a_step,
                     const float* sums, int64_t sums_step, float* y, int64_t y_step) {
  const Spread<kBits> spread(__builtin_ctzll(static_cast<unsigned long long>(w.block_size)));
  for (int64_t j = 0; j < columns; ++j)
    dot<kBits, kZeros, kRows>(w.from(j), spread, a, a_step, sums, sums_step, y + j, y_step);
}

template <int kBits, Zeros kZeros>
void multiply_rows(const NBitsColumns& w, int64_t columns, const float* a, int64_t a_step, const float* sums,
                   int64_t sums_step, int64_t count, float* y, int64_t y_step) {
  switch (count) {
    case 1:
      return rows_by_columns<kBits, kZeros, 1>(w, columns, a, a_step, sums, sums_step, y, y_step);
    case 2:
      return rows_by_columns<kBits, kZeros, 2>(w, columns, a, a_step, sums, sums_step, y, y_step);
    case 3:
      return rows_by_columns<kBits, kZeros, 3>(w, columns, a, a_step, sums, sums_step, y, y_step);
    default:
      return rows_by_columns<kBits, kZeros, 4>(w, columns, a, a_step, sums, sums_step, y, y_step);
  }
}

template <int kBits>
void multiply_bits(const NBitsColumns& w, int64_t columns, const float* a, int64_t a_step, const float* sums,
                   int64_t sums_step, int64_t count, float* y, int64_t y_step) {
  switch (zeros_of(w)) {
    case kNone:
      return multiply_rows<kBits, kNone>(w, columns, a, a_step, sums, sums_step, count, y, y_step);
    case kBytes:
      return multiply_rows<kBits, kBytes>(w, columns, a, a_step, sums, sums_step, count, y, y_step);
    default:
      return multiply_rows<kBits, kReal>(w, columns, a, a_step, sums, sums_step, count, y, y_step);
  }
}

void multiply(const NBitsColumns& w, int64_t columns, const float* a, int64_t a_step, const float* sums,
              int64_t sums_step, int64_t count, float* y, int64_t y_step) {
  if (w.bits == 2) return multiply_bits<2>(w, columns, a, a_step, sums, sums_step, count, y, y_step);
  if (w.bits == 4) return multiply_bits<4>(w, columns, a, a_step, sums, sums_step, count, y, y_step);
  multiply_bits<8>(w, columns, a, a_step, sums, sums_step, count, y, y_step);
}

template <int kBits, Zeros kZeros>
void unpack_columns(const NBitsColumns& w, int64_t columns, float* to) {
  constexpr int64_t kElements = 32 / kBits;
  const int shift = __builtin_ctzll(static_cast<unsigned long long>(w.block_size));
  const Spread<kBits> spread(shift);
  const int64_t whole = whole_chunks(w), chunks = w.chunks();
  for (int64_t j = 0; j < columns; ++j) {
    const NBitsColumns column = w.from(j);
    for (int64_t c = 0; c < chunks; ++c, to += kChunkLanes * kElements) {
      for (int64_t part = 0; part < kParts; ++part) {
        const int64_t at = c * kParts + part;
        const auto lanes = c < whole ? Lanes<kBits, kZeros>::of(column, spread, shift, at)
                                     : Lanes<kBits, kZeros>::at_end(column, shift, at);
#pragma GCC unroll 16
        for (int64_t e = 0; e < kElements; ++e) {
          Floats weight = weight_of<kBits>(lanes.words, e);
          if constexpr (kZeros != kNone) weight -= lanes.zero;
          store(to + e * kChunkLanes + part * kLanes, weight * lanes.scale);
        }
      }
    }
  }
}

template <int kBits>
void unpack_bits(const NBitsColumns& w, int64_t columns, float* to) {
  switch (zeros_of(w)) {
    case kNone:
      return unpack_columns<kBits, kNone>(w, columns, to);
    case kBytes:
      return unpack_columns<kBits, kBytes>(w, columns, to);
    default:
      return unpack_columns<kBits, kReal>(w, columns, to);
  }
}

void unpack(const NBitsColumns& w, int64_t columns, float* to) {
  if (w.bits == 2) return unpack_bits<2>(w, columns, to);
  if (w.bits == 4) return unpack_bits<4>(w, columns, to);
  unpack_bits<8>(w, columns, to);
}

// Floats along the depth that a tile takes at a time: those of its columns stay in the first-level cache, and those of
// some hundred rows in the second.
constexpr int64_t kDeep = 1024;

template <int kRows, int kColumns>
void tile(const float* rows, const float* columns, int64_t step, int64_t length, float* y, int64_t y_step,
          bool adds) {
  Floats sums[kRows][kColumns] = {};
  for (int64_t k = 0; k < length; k += kLanes) {
    Floats left[kRows];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kRows; ++i) left[i] = load<Floats>(rows + i * step + k);
#pragma GCC unroll 8
    for (int64_t j = 0; j < kColumns; ++j) {
      const Floats right = load<Floats>(columns + j * step + k);
#pragma GCC unroll 8
      for (int64_t i = 0; i < kRows; ++i) sums[i][j] += left[i] * right;
    }
  }
#pragma GCC unroll 8
  for (int64_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int64_t j = 0; j < kColumns; ++j) {
      float* const to = y + i * y_step + j;
      *to = total(sums[i][j]) + (adds ? *to : 0.0f);
    }
  }
}

#if defined(__AVX512F__)
constexpr int kTileRows = 4, kTileWidth = 6;
#else
constexpr int kTileRows = 3, kTileWidth = 4;
#endif

template <int kColumns>
void tiles(const float* rows, int64_t count, const float* columns, int64_t step, int64_t length, float* y,
           int64_t y_step, bool adds) {
  int64_t i = 0;
  for (; i + kTileRows <= count; i += kTileRows)
    tile<kTileRows, kColumns>(rows + i * step, columns, step, length, y + i * y_step, y_step, adds);
  for (; i < count; ++i)
    tile<1, kColumns>(rows + i * step, columns, step, length, y + i * y_step, y_step, adds);
}

void multiply_unpacked(const float* rows, int64_t count, const float* columns, int64_t column_count,
                       int64_t depth, float* y, int64_t y_step) {
  for (int64_t k = 0; k < depth; k += kDeep) {
    const int64_t part = k + kDeep <= depth ? kDeep : depth - k;
    int64_t j = 0;
    for (; j + kTileWidth <= column_count; j += kTileWidth)
      tiles<kTileWidth>(rows + k, count, columns + j * depth + k, depth, part, y + j, y_step, k > 0);
    for (; j < column_count; ++j)
      tiles<1>(rows + k, count, columns + j * depth + k, depth, part, y + j, y_step, k > 0);
  }
}

void lay_out(const float* row, int64_t depth, int64_t bits, float* to, float* sums) {
  const int64_t elements = 32 / bits, chunk = kChunkLanes * elements;
  for (int64_t first = 0; first < depth; first += chunk, to += chunk, sums += kChunkLanes) {
    for (int64_t l = 0; l < kChunkLanes; ++l) {
      float sum = 0;
      for (int64_t e = 0; e < elements; ++e) {
        const int64_t at = first + l * elements + e;
        const float value = at < depth ? row[at] : 0.0f;
        to[e * kChunkLanes + l] = value;
        sum += value;
      }
      sums[l] = sum;
    }
  }
}

constexpr NBits kNBits = {lay_out, multiply, unpack, multiply_unpacked};

}  // namespace
}  // namespace TENON_ISA_NAMESPACE

const NBits& TENON_ISA_JOIN_(nbits_, TENON_ISA)() { return TENON_ISA_NAMESPACE::kNBits; }

}  // namespace tenon::cpu::isa
