// float32 functions without branches, calls or integer conversions, so that loops over them vectorise. The
// polynomials are our own minimax fits. Errors are in units in the last place (ulp) of the result.
#pragma once

#include <cstdint>

#include "isa/parts.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {

static inline float from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
static inline uint32_t to_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
static inline float select(bool c, float a, float b) { return c ? a : b; }

/// e^x, 1 ulp. Subnormal results, infinities and NaN are correct.
static inline float fast_exp(float x) {
  float clamped = select(x > 89.0f, 89.0f, x);
  clamped = select(clamped < -104.0f, -104.0f, clamped);
  // Adding 1.5 * 2^23 rounds to an integer, which then sits in the low bits.
  const float magic = 12582912.0f;
  const float shifted = clamped * 1.44269504f + magic;
  const float n = shifted - magic;
  const float r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 0.0013942164f;
  p = p * r + 0.0083637759f;
  p = p * r + 0.041666362f;
  p = p * r + 0.16666573f;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  // 2^n as two factors, because n exceeds the exponent range of float at both ends.
  const uint32_t whole = to_bits(shifted) - to_bits(magic);
  const uint32_t half = static_cast<uint32_t>(static_cast<int32_t>(whole) >> 1);
  return p * from_bits((half + 127u) << 23) * from_bits((whole - half + 127u) << 23);
}

/// 2 ulp.
static inline float fast_sigmoid(float x) { return 1.0f / (1.0f + fast_exp(-x)); }

/// 2 ulp.
static inline float fast_tanh(float x) {
  const float magnitude = from_bits(to_bits(x) & 0x7FFFFFFFu);
  const float u = x * x;
  float p = -0.0061132032f;
  p = p * u + 0.021010092f;
  p = p * u + -0.053854074f;
  p = p * u + 0.13332795f;
  p = p * u + -0.33333328f;
  const float small = p * u * x + x;
  const float big = 1.0f - 2.0f / (fast_exp(2.0f * magnitude) + 1.0f);
  const float signed_big = from_bits(to_bits(big) | (to_bits(x) & 0x80000000u));
  return select(magnitude < 0.625f, small, signed_big);
}

/// 3 ulp.
static inline float fast_erf(float x) {
  const float magnitude = from_bits(to_bits(x) & 0x7FFFFFFFu);
  const float u = x * x;
  float p = 7.8891229e-05f;
  p = p * u + -0.00080208422f;
  p = p * u + 0.0051895357f;
  p = p * u + -0.026854444f;
  p = p * u + 0.112836f;
  p = p * u + -0.37612626f;
  p = p * u + 1.1283791f;
  const float small = p * x;
  const float capped = select(magnitude > 4.2f, 4.2f, magnitude);
  const float t = 1.0f / (1.0f + 0.5f * capped);
  float q = 0.11885406f;
  q = q * t + -0.46947801f;
  q = q * t + 0.56071007f;
  q = q * t + -0.1015066f;
  q = q * t + 0.34676677f;
  q = q * t + 0.25999269f;
  q = q * t + 0.28486279f;
  q = q * t + -0.00015072247f;
  const float big = select(magnitude > 4.2f, 1.0f, 1.0f - fast_exp(-capped * capped) * q);
  const float signed_big = from_bits(to_bits(big) | (to_bits(x) & 0x80000000u));
  return select(magnitude <= 1.0f, small, select(x != x, x, signed_big));
}

#if defined(__AVX512F__)
// The same for registers. AVX-512 rounds and multiplies by powers of two, which takes half the instructions.

/// e^x, 1 ulp. Subnormal results, infinities and NaN are correct.
static inline __m512 fast_exp(__m512 x) {
  // These instructions return their second operand for NaN.
  const __m512 clamped = _mm512_max_ps(_mm512_set1_ps(-104.0f), _mm512_min_ps(_mm512_set1_ps(89.0f), x));
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(clamped, _mm512_set1_ps(1.44269504f)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), clamped);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  __m512 p = _mm512_set1_ps(0.0013942164f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.0083637759f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.041666362f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.16666573f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
  p = _mm512_add_ps(_mm512_fmadd_ps(_mm512_mul_ps(p, r), r, r), _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(p, n);
}

/// 2 ulp.
static inline __m512 fast_sigmoid(__m512 x) {
  const __m512 one = _mm512_set1_ps(1.0f);
  return _mm512_div_ps(one, _mm512_add_ps(one, fast_exp(_mm512_sub_ps(_mm512_setzero_ps(), x))));
}

/// 3 ulp.
static inline __m512 fast_erf(__m512 x) {
  const __m512 magnitude = _mm512_abs_ps(x), u = _mm512_mul_ps(x, x);
  const auto next = [](__m512 p, __m512 v, float c) { return _mm512_fmadd_ps(p, v, _mm512_set1_ps(c)); };
  __m512 p = _mm512_set1_ps(7.8891229e-05f);
  constexpr float kSmall[] = {-0.00080208422f, 0.0051895357f, -0.026854444f,
                              0.112836f,       -0.37612626f,  1.1283791f};
  for (const float c : kSmall) p = next(p, u, c);
  const __m512 small = _mm512_mul_ps(p, x);
  const __m512 capped = _mm512_min_ps(_mm512_set1_ps(4.2f), magnitude);
  const __m512 one = _mm512_set1_ps(1.0f);
  const __m512 t = _mm512_div_ps(one, _mm512_fmadd_ps(_mm512_set1_ps(0.5f), capped, one));
  __m512 q = _mm512_set1_ps(0.11885406f);
  constexpr float kBig[] = {-0.46947801f, 0.56071007f, -0.1015066f,    0.34676677f,
                            0.25999269f,  0.28486279f, -0.00015072247f};
  for (const float c : kBig) q = next(q, t, c);
  const __m512 e = fast_exp(_mm512_mul_ps(_mm512_sub_ps(_mm512_setzero_ps(), capped), capped));
  __m512 big = _mm512_fnmadd_ps(e, q, one);
  big = _mm512_mask_mov_ps(big, _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(4.2f), _CMP_GT_OQ),
                           _mm512_set1_ps(1.0f));
  big = _mm512_or_ps(big, _mm512_and_ps(x, _mm512_set1_ps(-0.0f)));
  // NaN fails the comparison with 1 and is in `small`.
  return _mm512_mask_mov_ps(big, _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(1.0f), _CMP_NGT_UQ), small);
}
#endif

/// y = f(x), where f takes a float, and a register with AVX-512; y may be x.
template <class F>
static inline void map_fast(const float* x, float* y, int64_t n, F f) {
#if defined(__AVX512F__)
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) _mm512_storeu_ps(y + i, f(_mm512_loadu_ps(x + i)));
  if (i == n) return;
  const auto rest = static_cast<__mmask16>((1u << (n - i)) - 1);
  _mm512_mask_storeu_ps(y + i, rest, f(_mm512_maskz_loadu_ps(rest, x + i)));
#else
  for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
#endif
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
