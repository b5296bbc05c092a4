// float32 functions without branches, calls or integer conversions, so that loops over them vectorise. The
// polynomials are our own minimax fits. Errors are in units in the last place (ulp) of the result.
#pragma once

#include <cstdint>

#include "isa/parts.h"

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

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
