// float32 functions without branches, calls or integer conversions, so that loops over them vectorise. The
// polynomials are our own minimax fits. Errors are in units in the last place (ulp) of the result.
#pragma once

#include <cstdint>

#include "isa/vector.h"

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

#if defined(__AVX2__)
// The same for registers: compilers make more instructions of the loops than are needed.

#if defined(__AVX512F__)
static inline Floats madd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
static inline Floats nmadd(Floats a, Floats b, Floats c) { return _mm512_fnmadd_ps(a, b, c); }
/// For NaN these return the second operand.
static inline Floats lower(Floats a, Floats b) { return _mm512_min_ps(a, b); }
static inline Floats upper(Floats a, Floats b) { return _mm512_max_ps(a, b); }
static inline Floats magnitude_of(Floats x) { return _mm512_abs_ps(x); }
/// `magnitude` with the sign of x.
static inline Floats signed_as(Floats magnitude, Floats x) {
  return _mm512_or_ps(magnitude, _mm512_and_ps(x, _mm512_set1_ps(-0.0f)));
}
/// `above` where x > limit. `others` elsewhere, and for NaN.
static inline Floats choose(Floats x, float limit, Floats above, Floats others) {
  return _mm512_mask_mov_ps(others, _mm512_cmp_ps_mask(x, _mm512_set1_ps(limit), _CMP_GT_OQ), above);
}
struct Exponent {
  Floats n;  // an integer
};
/// x / ln(2), rounded.
static inline Exponent exponent_of(Floats x) {
  return {_mm512_roundscale_ps(x * all_of(1.44269504f), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
/// p * 2^n.
static inline Floats scaled(Floats p, Exponent e) { return _mm512_scalef_ps(p, e.n); }
/// The same for p in [0.5, 2], NaN, and normal results.
static inline Floats scaled_normal(Floats p, Exponent e) { return _mm512_scalef_ps(p, e.n); }
#else
static inline Floats madd(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
static inline Floats nmadd(Floats a, Floats b, Floats c) { return _mm256_fnmadd_ps(a, b, c); }
static inline Floats lower(Floats a, Floats b) { return _mm256_min_ps(a, b); }
static inline Floats upper(Floats a, Floats b) { return _mm256_max_ps(a, b); }
static inline Floats magnitude_of(Floats x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
static inline Floats signed_as(Floats magnitude, Floats x) {
  return _mm256_or_ps(magnitude, _mm256_and_ps(x, _mm256_set1_ps(-0.0f)));
}
static inline Floats choose(Floats x, float limit, Floats above, Floats others) {
  return _mm256_blendv_ps(others, above, _mm256_cmp_ps(x, _mm256_set1_ps(limit), _CMP_GT_OQ));
}
constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: a float this large has the integer in its low bits
struct Exponent {
  Floats n;
  __m256i bits;  // of n + kMagic
};
static inline Exponent exponent_of(Floats x) {
  const Floats shifted = madd(x, all_of(1.44269504f), all_of(kMagic));
  return {shifted - all_of(kMagic), _mm256_castps_si256(shifted)};
}
/// 2^n as two factors, because n exceeds the exponent range of float at both ends.
static inline Floats scaled(Floats p, Exponent e) {
  const auto power = [](__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
  };
  const __m256i whole = _mm256_sub_epi32(e.bits, _mm256_castps_si256(all_of(kMagic)));
  const __m256i half = _mm256_srai_epi32(whole, 1);
  return p * power(half) * power(_mm256_sub_epi32(whole, half));
}
/// Adds to the exponent. NaN could become a number, so it is put there again.
static inline Floats scaled_normal(Floats p, Exponent e) {
  const __m256i sum = _mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(e.bits, 23));
  return _mm256_or_ps(_mm256_castsi256_ps(sum), _mm256_cmp_ps(p, p, _CMP_UNORD_Q));
}
#endif

typedef Floats Lanes;
constexpr int64_t kLaneCount = kFloats;

/// e^(x - n * ln(2)) for the whole exponent n of x.
static inline Lanes exp_of_rest(Lanes x, Lanes n) {
  const Lanes r = nmadd(n, all_of(-2.12194440e-4f), nmadd(n, all_of(0.693359375f), x));
  Lanes p = all_of(0.0013942164f);
  constexpr float kRest[] = {0.0083637759f, 0.041666362f, 0.16666573f, 0.5f};
  for (const float c : kRest) p = madd(p, r, all_of(c));
  return madd(p * r, r, r) + all_of(1.0f);
}
/// e^x for x in [-87, 88], 1 ulp, and NaN.
static inline Lanes exp_within(Lanes x) {
  const Exponent e = exponent_of(x);
  return scaled_normal(exp_of_rest(x, e.n), e);
}
/// e^x, 1 ulp. Subnormal results, infinities and NaN are correct.
static inline Lanes fast_exp(Lanes x) {
  const Lanes clamped = upper(all_of(-104.0f), lower(all_of(89.0f), x));
  const Exponent e = exponent_of(clamped);
  return scaled(exp_of_rest(clamped, e.n), e);
}

/// 2 ulp; 0 for x < -88, where results are subnormal.
static inline Lanes fast_sigmoid(Lanes x) {
  const Lanes one = all_of(1.0f), opposite = all_of(0.0f) - x;
  const Lanes y = one / (one + exp_within(upper(all_of(-87.0f), lower(all_of(88.0f), opposite))));
  return choose(opposite, 88.0f, all_of(0.0f), y);
}

/// 2 ulp.
static inline Lanes fast_tanh(Lanes x) {
  const Lanes magnitude = magnitude_of(x), u = x * x, one = all_of(1.0f);
  Lanes p = all_of(-0.0061132032f);
  constexpr float kTanh[] = {0.021010092f, -0.053854074f, 0.13332795f, -0.33333328f};
  for (const float c : kTanh) p = madd(p, u, all_of(c));
  const Lanes small = madd(p * u, x, x);
  const Lanes e = exp_within(lower(all_of(40.0f), magnitude + magnitude));
  return choose(magnitude, 0.625f, signed_as(one - all_of(2.0f) / (e + one), x), small);
}

/// 3 ulp.
static inline Lanes fast_erf(Lanes x) {
  const Lanes magnitude = magnitude_of(x), u = x * x, one = all_of(1.0f);
  Lanes p = all_of(7.8891229e-05f);
  constexpr float kSmall[] = {-0.00080208422f, 0.0051895357f, -0.026854444f,
                              0.112836f,       -0.37612626f,  1.1283791f};
  for (const float c : kSmall) p = madd(p, u, all_of(c));
  const Lanes capped = lower(all_of(4.2f), magnitude);
  const Lanes t = one / madd(all_of(0.5f), capped, one);
  Lanes q = all_of(0.11885406f);
  constexpr float kBig[] = {-0.46947801f, 0.56071007f, -0.1015066f,    0.34676677f,
                            0.25999269f,  0.28486279f, -0.00015072247f};
  for (const float c : kBig) q = madd(q, t, all_of(c));
  const Lanes big = nmadd(exp_within((all_of(0.0f) - capped) * capped), q, one);
  return choose(magnitude, 1.0f, signed_as(choose(magnitude, 4.2f, one, big), x), p * x);
}

static inline Lanes load_part(const float* from, int64_t count) { return load_first(from, count); }
static inline void store_part(float* to, Lanes value, int64_t count) {
  __builtin_memcpy(to, &value, static_cast<uint64_t>(count) * 4);
}
#else
typedef float Lanes;
constexpr int64_t kLaneCount = 1;
static inline Lanes load_part(const float* from, int64_t) { return *from; }
static inline void store_part(float* to, Lanes value, int64_t) { *to = value; }
#endif

/// Calls f(i, count) for all of n elements: kLaneCount of them at a time, then what is left.
template <class F>
static inline void each_lanes(int64_t n, F f) {
  int64_t i = 0;
  for (; i + kLaneCount <= n; i += kLaneCount) f(i, kLaneCount);
  if (i < n) f(i, n - i);
}

/// y = f(x), where f takes Lanes; y may be x.
template <class F>
static inline void map_fast(const float* x, float* y, int64_t n, F f) {
  each_lanes(n, [&](int64_t i, int64_t count) { store_part(y + i, f(load_part(x + i, count)), count); });
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
