#include "core/base/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tenon {
namespace {

/// Format: one sign bit, the exponent, the fraction; 16 bits in all.
template <int kFractionBits>
uint16_t narrow(double value) {
  constexpr int kBias = (1 << (14 - kFractionBits)) - 1;
  constexpr int kLowest = 1 - kBias - kFractionBits;  // the exponent of the lowest bit of a subnormal number
  constexpr uint32_t kInfinity = 0x7fff >> kFractionBits << kFractionBits;
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | kInfinity | 1u << (kFractionBits - 1));
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return static_cast<uint16_t>(sign);
  if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | kInfinity);
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
  const int step = std::max(exponent - 1 - kFractionBits, kLowest);
  const double steps = std::nearbyint(std::ldexp(magnitude, -step));
  // A carry out of the fraction correctly increments the exponent, and from the largest exponent gives infinity.
  const double bits = steps + std::ldexp(step - kLowest, kFractionBits);
  return static_cast<uint16_t>(sign | std::min(kInfinity, static_cast<uint32_t>(std::min(bits, 65535.0))));
}

}  // namespace

float half_to_float(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                  : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t to_half(double value) { return narrow<10>(value); }
uint16_t to_bfloat16(double value) { return narrow<7>(value); }

}  // namespace tenon
