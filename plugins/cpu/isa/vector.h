// One register of floats, as wide as the instruction set has them.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "isa/parts.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {

#if defined(__AVX512F__)
#define TENON_ISA_BYTES 64
#elif defined(__AVX2__)
#define TENON_ISA_BYTES 32
#else
#define TENON_ISA_BYTES 16
#endif

typedef float Floats __attribute__((vector_size(TENON_ISA_BYTES)));
constexpr int64_t kFloats = TENON_ISA_BYTES / 4;

static inline Floats load(const float* from) {
  Floats out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
static inline void store(float* to, Floats value) { __builtin_memcpy(to, &value, sizeof value); }
/// `value` in all lanes. A sum with zeros would not do: it turns -0 into 0, so that compilers compute it.
static inline Floats all_of(float value) {
#if defined(__AVX512F__)
  return _mm512_set1_ps(value);
#elif defined(__AVX2__)
  return _mm256_set1_ps(value);
#else
  return Floats{value, value, value, value};
#endif
}

/// The first `count` elements; the others are 0.
static inline Floats load_first(const float* x, int64_t count) {
  if (count == kFloats) return load(x);
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1u), x);
#elif defined(__AVX2__)
  const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_maskload_ps(x, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(count)), places));
#else
  Floats out{};
  for (int64_t i = 0; i < count; ++i) out[i] = x[i];
  return out;
#endif
}

/// Writes the first `count` elements.
static inline void store_first(float* to, Floats value, int64_t count) {
  if (count == kFloats) return store(to, value);
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1u), value);
#else
  float lanes[kFloats];
  store(lanes, value);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

/// Calls f with the constants 0 to kCount - 1. Arrays that only these index stay in registers; with a loop's variable they lie in memory
/// until compilers unroll the loop, which GCC does after it has chosen what may live in registers.
template <int kCount, class F>
TENON_INLINED static inline void each_of(F f) {
  const auto call = [&]<int... kAt>(std::integer_sequence<int, kAt...>) TENON_INLINED {
    (f(std::integral_constant<int, kAt>{}), ...);
  };
  call(std::make_integer_sequence<int, kCount>{});
}

/// Calls change(r, v, sums[r][v]) for each register of a tile; r and v are constants.
template <int kTileRows, int kTileVectors, class F>
TENON_INLINED static inline void each_sum(Floats (&sums)[kTileRows][kTileVectors], F change) {
  each_of<kTileRows>([&](auto r) TENON_INLINED {
    each_of<kTileVectors>([&](auto v) TENON_INLINED { change(r, v, sums[r][v]); });
  });
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
