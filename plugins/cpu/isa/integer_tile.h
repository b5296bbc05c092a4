// One tile of a product of bytes, in the registers of one instruction set.
#pragma once

#include <cstdint>

#include "isa/parts.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {

#if defined(__AVX512VNNI__)

/// Sums of 16 columns; one instruction multiplies and adds four bytes per column.
struct TileLanes {
  using Sums = __m512i;
  static constexpr int kVectors = 1;  // per panel
  static constexpr int kMostPanels = 4;
  static constexpr int rows(int panels) { return panels == 4 ? 6 : 8; }
  struct Right {
    __m512i bytes;
  };
  struct Left {
    __m512i bytes;
  };
  static inline Sums load(const int32_t* c) { return _mm512_loadu_si512(c); }
  static inline void store(int32_t* c, Sums sums) { _mm512_storeu_si512(c, sums); }
  static inline Sums zero() { return _mm512_setzero_si512(); }
  static inline Right right(const int8_t* b) { return {_mm512_loadu_si512(b)}; }
  static inline Left left(int32_t quad) { return {_mm512_set1_epi32(quad)}; }
  static inline void add(Sums& sums, const Left& a, const Right& b) {
    sums = _mm512_dpbusd_epi32(sums, a.bytes, b.bytes);
  }
};

#elif defined(__AVX512BW__)

/// Sums of 16 columns. Bytes become 16-bit numbers, of which one instruction multiplies and adds pairs, exactly:
/// the bytes 0 and 2 of a quad, then 1 and 3.
struct TileLanes {
  using Sums = __m512i;
  static constexpr int kVectors = 1;
  static constexpr int kMostPanels = 2;
  static constexpr int rows(int) { return 8; }
  struct Right {
    __m512i even, odd;
  };
  using Left = Right;
  static inline Sums load(const int32_t* c) { return _mm512_loadu_si512(c); }
  static inline void store(int32_t* c, Sums sums) { _mm512_storeu_si512(c, sums); }
  static inline Sums zero() { return _mm512_setzero_si512(); }
  static inline Right right(const int8_t* b) {
    const __m512i bytes = _mm512_loadu_si512(b);
    return {_mm512_srai_epi16(_mm512_slli_epi16(bytes, 8), 8), _mm512_srai_epi16(bytes, 8)};
  }
  static inline Left left(int32_t quad) {
    const __m512i bytes = _mm512_set1_epi32(quad);
    return {_mm512_and_si512(bytes, _mm512_set1_epi16(0xFF)), _mm512_srli_epi16(bytes, 8)};
  }
  static inline void add(Sums& sums, const Left& a, const Right& b) {
    sums = _mm512_add_epi32(sums, _mm512_madd_epi16(a.even, b.even));
    sums = _mm512_add_epi32(sums, _mm512_madd_epi16(a.odd, b.odd));
  }
};

#elif defined(__AVX2__)

/// Sums of 8 columns, as above. With 16 registers there is little room to turn weights into 16-bit numbers for each tile again.
struct TileLanes {
  using Sums = __m256i;
  static constexpr int kVectors = 2;
  static constexpr int kMostPanels = 1;
  static constexpr int rows(int) { return 4; }
  struct Right {
    __m256i even, odd;
  };
  using Left = Right;
  static inline Sums load(const int32_t* c) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c));
  }
  static inline void store(int32_t* c, Sums sums) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(c), sums);
  }
  static inline Sums zero() { return _mm256_setzero_si256(); }
  static inline Right right(const int8_t* b) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
    return {_mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8), _mm256_srai_epi16(bytes, 8)};
  }
  static inline Right right(const int16_t* widened) {
    const auto* at = reinterpret_cast<const __m256i*>(widened);
    return {_mm256_load_si256(at), _mm256_load_si256(at + 1)};
  }
  static inline void widen(const int8_t* b, int16_t* to) {
    const Right wide = right(b);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), wide.even);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to) + 1, wide.odd);
  }
  static inline Left left(int32_t quad) {
    const __m256i bytes = _mm256_set1_epi32(quad);
    return {_mm256_and_si256(bytes, _mm256_set1_epi16(0xFF)), _mm256_srli_epi16(bytes, 8)};
  }
  static inline void add(Sums& sums, const Left& a, const Right& b) {
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(a.even, b.even));
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(a.odd, b.odd));
  }
};

#else

/// Plain code: the sums of a panel.
struct TileLanes {
  static constexpr int kVectors = 1;
  static constexpr int kMostPanels = 1;
  static constexpr int rows(int) { return 4; }
  struct Sums {
    uint32_t at[16];
  };
  struct Right {
    const int8_t* bytes;
  };
  struct Left {
    int16_t at[4];
  };
  static inline Sums load(const int32_t* c) {
    Sums sums;
    __builtin_memcpy(sums.at, c, sizeof(sums.at));
    return sums;
  }
  static inline void store(int32_t* c, const Sums& sums) { __builtin_memcpy(c, sums.at, sizeof(sums.at)); }
  static inline Sums zero() { return {}; }
  static inline Right right(const int8_t* b) { return {b}; }
  static inline Left left(int32_t quad) {
    uint8_t bytes[4];
    __builtin_memcpy(bytes, &quad, 4);
    return {{bytes[0], bytes[1], bytes[2], bytes[3]}};
  }
  static inline void add(Sums& sums, const Left& a, const Right& b) {
    for (int j = 0; j < 16; ++j) {
      int32_t sum = 0;  // at most 4 * 255 * 128
      for (int q = 0; q < 4; ++q) sum += a.at[q] * b.bytes[4 * j + q];
      sums.at[j] += static_cast<uint32_t>(sum);
    }
  }
};

#endif

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
