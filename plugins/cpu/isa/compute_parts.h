// What the files behind Compute share: a vector of the instruction set, and the functions of each file.
#pragma once

#include "isa/compute.h"
#include "isa/parts.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {

#if defined(__AVX512F__)
constexpr int64_t kLanes = 16, kVectors = 4, kRows = 6;  // 24 sums, 4 weights and a factor in 32 registers
#elif defined(__AVX2__)
constexpr int64_t kLanes = 8, kVectors = 2, kRows = 6;  // 12, 2 and 1 of 16
#else
constexpr int64_t kLanes = 4, kVectors = 2, kRows = 4;
#endif
constexpr int64_t kPanel = kLanes * kVectors;

typedef float Vector __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

static inline Vector load(const float* x) { return *reinterpret_cast<const Vector*>(x); }
static inline void store(float* y, Vector v) { *reinterpret_cast<Vector*>(y) = v; }
/// x in all lanes. A sum with zeros would not do: it turns -0 into 0, so that compilers compute it.
static inline Vector all(float x) {
#if defined(__AVX512F__)
  return _mm512_set1_ps(x);
#elif defined(__AVX2__)
  return _mm256_set1_ps(x);
#else
  return Vector{x, x, x, x};
#endif
}
/// min(max(x, low), high); NaN stays NaN, since these instructions return their second operand then.
static inline Vector clamp(Vector x, Vector low, Vector high) {
#if defined(__AVX512F__)
  return _mm512_min_ps(high, _mm512_max_ps(low, x));
#elif defined(__AVX2__)
  return _mm256_min_ps(high, _mm256_max_ps(low, x));
#else
  x = x < low ? low : x;
  return x > high ? high : x;
#endif
}

/// y[rows, columns], which begins at [row, column] of the whole result, goes through the steps in place.
void apply(const Chain& chain, float* y, int64_t ld, int64_t row, int64_t rows, int64_t column,
           int64_t columns);

void fill_panels(Compute& compute);
void fill_windows(Compute& compute);
void fill_winograd(Compute& compute);
void fill_chain(Compute& compute);

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
