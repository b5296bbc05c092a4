// float32 functions without branches, calls or integer conversions, so that loops over them vectorise. The
// polynomials are our own minimax fits. Errors are in units in the last place (ulp) of the result.
#pragma once

#include <cstdint>

#include "isa/several.h"

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

/// 1 + e^-x, 1 ulp.
static inline float one_plus_exp_of_opposite(float x) { return 1.0f + fast_exp(-x); }

/// 3 ulp.
static inline float fast_sigmoid(float x) { return 1.0f / one_plus_exp_of_opposite(x); }

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
  return from_bits(to_bits(select(magnitude < 0.625f, small, big)) | (to_bits(x) & 0x80000000u));
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

// The polynomial q of fast_gelu, the highest power first: our own fit on [-6, 6].
constexpr float kGelu[] = {2.1447881e-13f, -2.1785712e-11f, 8.2565443e-10f,  -1.1589697e-08f, -1.2122102e-07f,
                           7.2321286e-06f, -0.00010905174f, -6.6213892e-05f, 0.072665505f,    1.5957704f};
constexpr int kGeluTerms = static_cast<int>(sizeof kGelu / sizeof *kGelu);
constexpr float kGeluEnd = 36.0f;  // of x^2

/// x P(X <= x) for a standard normal X, and that probability is 1 / (1 + e^(-x q(x^2))). 8 ulp for x > -2; for lower x an
/// absolute error of 3e-8.
static inline float fast_gelu(float x) {
  const float square = x * x, u = select(square > kGeluEnd, kGeluEnd, square);
  float q = kGelu[0];
  for (int i = 1; i < kGeluTerms; ++i) q = q * u + kGelu[i];
  return x / one_plus_exp_of_opposite(x * q);
}

#if defined(__AVX2__)
// The same for registers: compilers make more instructions of the loops than are needed.

#if defined(__AVX512F__)
static inline Floats madd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
static inline Floats nmadd(Floats a, Floats b, Floats c) { return _mm512_fnmadd_ps(a, b, c); }
static inline Floats nmsub(Floats a, Floats b, Floats c) { return _mm512_fnmsub_ps(a, b, c); }
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
/// x * factor, rounded.
static inline Exponent exponent_of(Floats x, float factor) {
  return {_mm512_roundscale_ps(x * all_of(factor), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
/// p * 2^n.
static inline Floats scaled(Floats p, Exponent e) { return _mm512_scalef_ps(p, e.n); }
/// The same for n in [-126, 128]; 2^128 may be infinity.
static inline Floats scaled_normal(Floats p, Exponent e) { return _mm512_scalef_ps(p, e.n); }
static inline Floats one_plus_scaled_normal(Floats p, Exponent e) {
  return all_of(1.0f) + scaled_normal(p, e);
}
#else
static inline Floats madd(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
static inline Floats nmadd(Floats a, Floats b, Floats c) { return _mm256_fnmadd_ps(a, b, c); }
static inline Floats nmsub(Floats a, Floats b, Floats c) { return _mm256_fnmsub_ps(a, b, c); }
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
static inline Exponent exponent_of(Floats x, float factor) {
  const Floats shifted = madd(x, all_of(factor), all_of(kMagic));
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
static inline Floats power_of(Exponent e) {
  return _mm256_castsi256_ps(
      _mm256_add_epi32(_mm256_slli_epi32(e.bits, 23), _mm256_castps_si256(all_of(1.0f))));
}
static inline Floats scaled_normal(Floats p, Exponent e) { return p * power_of(e); }
static inline Floats one_plus_scaled_normal(Floats p, Exponent e) {
  return madd(p, power_of(e), all_of(1.0f));
}
#endif

static inline Floats whole_of(Exponent e) { return e.n; }

TENON_ISA_SEVERAL_(madd)
TENON_ISA_SEVERAL_(nmadd)
TENON_ISA_SEVERAL_(nmsub)
TENON_ISA_SEVERAL_(lower)
TENON_ISA_SEVERAL_(upper)
TENON_ISA_SEVERAL_(magnitude_of)
TENON_ISA_SEVERAL_(signed_as)
TENON_ISA_SEVERAL_(choose)
TENON_ISA_SEVERAL_(exponent_of)
TENON_ISA_SEVERAL_(whole_of)
TENON_ISA_SEVERAL_(scaled)
TENON_ISA_SEVERAL_(scaled_normal)
TENON_ISA_SEVERAL_(one_plus_scaled_normal)
#undef TENON_ISA_SEVERAL_

/// A polynomial, the highest power first.
template <int kTerms, class L>
TENON_INLINED static inline L polynomial(const float (&factors)[kTerms], L x) {
  L p = madd(all_of(factors[0]), x, all_of(factors[1]));
  each_of<kTerms - 2>([&](auto i) TENON_INLINED { p = madd(p, x, all_of(factors[i + 2])); });
  return p;
}

constexpr float kPerLog2 = 1.44269504f;  // 1 / ln(2)
// Their sum is ln(2). Products of the first with exponents are exact.
constexpr float kLog2 = 0.693359375f, kLog2Rest = -2.12194440e-4f;

/// e^r for r in [-ln(2) / 2, ln(2) / 2].
template <class L>
TENON_INLINED static inline L exp_near(L r) {
  constexpr float kExp[] = {0.0013942164f, 0.0083637759f, 0.041666362f, 0.16666573f, 0.5f, 1.0f, 1.0f};
  return polynomial(kExp, r);
}
template <class L>
TENON_INLINED static inline L exp_of_rest(L x, L n) {
  return exp_near(nmadd(n, all_of(kLog2Rest), nmadd(n, all_of(kLog2), x)));
}
/// e^x for x in [-87, 88], 1 ulp, and NaN.
template <class L>
TENON_INLINED static inline L exp_within(L x) {
  const auto e = exponent_of(x, kPerLog2);
  return scaled_normal(exp_of_rest(x, whole_of(e)), e);
}
/// e^x, 1 ulp. Subnormal results, infinities and NaN are correct.
template <class L>
TENON_INLINED static inline L fast_exp(L x) {
  const L clamped = upper(all_of(-104.0f), lower(all_of(89.0f), x));
  const auto e = exponent_of(clamped, kPerLog2);
  return scaled(exp_of_rest(clamped, whole_of(e)), e);
}
/// 1 + e^-x, 1 ulp. Infinity for x < -88.8, with AVX2 for x < -88.4.
template <class L>
TENON_INLINED static inline L one_plus_exp_of_opposite(L x) {
  const L clamped = upper(all_of(-89.0f), lower(all_of(87.0f), x));
  const auto e = exponent_of(clamped, -kPerLog2);
  const L n = whole_of(e);
  return one_plus_scaled_normal(exp_near(nmadd(n, all_of(kLog2Rest), nmsub(n, all_of(kLog2), clamped))), e);
}

/// 3 ulp; 0 where results are subnormal.
template <class L>
TENON_INLINED static inline L fast_sigmoid(L x) {
  return all_of(1.0f) / one_plus_exp_of_opposite(x);
}

/// 2 ulp.
template <class L>
TENON_INLINED static inline L fast_tanh(L x) {
  const L magnitude = magnitude_of(x), u = x * x;
  constexpr float kTanh[] = {-0.0061132032f, 0.021010092f, -0.053854074f, 0.13332795f, -0.33333328f};
  const L small = madd(polynomial(kTanh, u) * u, x, x);
  const L twice = lower(all_of(40.0f), magnitude + magnitude);
  const auto e = exponent_of(twice, kPerLog2);
  const L big = all_of(1.0f) - all_of(2.0f) / one_plus_scaled_normal(exp_of_rest(twice, whole_of(e)), e);
  return signed_as(choose(magnitude, 0.625f, big, small), x);
}

/// 3 ulp.
template <class L>
TENON_INLINED static inline L fast_erf(L x) {
  const L magnitude = magnitude_of(x), u = x * x;
  const Floats one = all_of(1.0f);
  constexpr float kSmall[] = {7.8891229e-05f, -0.00080208422f, 0.0051895357f, -0.026854444f,
                              0.112836f,      -0.37612626f,    1.1283791f};
  const L capped = lower(all_of(4.2f), magnitude);
  const L t = one / madd(all_of(0.5f), capped, one);
  constexpr float kBig[] = {0.11885406f, -0.46947801f, 0.56071007f, -0.1015066f,
                            0.34676677f, 0.25999269f,  0.28486279f, -0.00015072247f};
  const L big = nmadd(exp_within((all_of(0.0f) - capped) * capped), polynomial(kBig, t), one);
  return choose(magnitude, 1.0f, signed_as(choose(magnitude, 4.2f, one, big), x), polynomial(kSmall, u) * x);
}

/// As for single floats.
template <class L>
TENON_INLINED static inline L fast_gelu(L x) {
  const L u = lower(all_of(kGeluEnd), x * x);
  return x / one_plus_exp_of_opposite(x * polynomial(kGelu, u));
}

typedef Floats Lanes;
constexpr int64_t kLaneCount = kFloats;
static inline Lanes load_part(const float* from, int64_t count) { return load_first(from, count); }
static inline void store_part(float* to, Lanes value, int64_t count) { store_first(to, value, count); }
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

/// y = f(x), where f takes Lanes, or several of them; y may be x.
template <class F>
static inline void map_fast(const float* x, float* y, int64_t n, F f) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  // Each step waits for the one before, and these processors see too few steps ahead to begin with the next registers meanwhile.
  constexpr int kTogether = 4;
  for (; n >= kTogether * kFloats;
       n -= kTogether * kFloats, x += kTogether * kFloats, y += kTogether * kFloats) {
    Several<Floats, kTogether> group;
    each_of<kTogether>([&](auto i) TENON_INLINED { group.at[i] = load(x + i * kFloats); });
    group = f(group);
    each_of<kTogether>([&](auto i) TENON_INLINED { store(y + i * kFloats, group.at[i]); });
  }
#endif
  each_lanes(n, [&](int64_t i, int64_t count) { store_part(y + i, f(load_part(x + i, count)), count); });
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
