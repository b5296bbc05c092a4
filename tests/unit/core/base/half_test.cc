#include "core/base/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon {
namespace {

bool is_nan_half(uint32_t bits) { return (bits & 0x7fff) > 0x7c00; }
bool is_nan_bfloat16(uint32_t bits) { return (bits & 0x7fff) > 0x7f80; }

TEST(Half, EveryNumberComesBack) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (is_nan_half(bits)) {
      EXPECT_TRUE(std::isnan(half_to_float(half)) && is_nan_half(to_half(half_to_float(half)))) << bits;
    } else {
      EXPECT_EQ(to_half(half_to_float(half)), half);
    }
    if (is_nan_bfloat16(bits)) {
      EXPECT_TRUE(std::isnan(bfloat16_to_float(half)) &&
                  is_nan_bfloat16(to_bfloat16(bfloat16_to_float(half))))
          << bits;
    } else {
      EXPECT_EQ(to_bfloat16(bfloat16_to_float(half)), half);
    }
  }
}

TEST(Half, KnownNumbers) {
  EXPECT_EQ(half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(half_to_float(0xc000), -2.0f);
  EXPECT_EQ(half_to_float(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(half_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(half_to_float(0xfc00), -INFINITY);
  EXPECT_EQ(bfloat16_to_float(0x3f80), 1.0f);
  EXPECT_EQ(bfloat16_to_float(0xff80), -INFINITY);
}

/// Of every two neighbours: what lies between them goes to the nearer one, and the middle to the even one.
template <class ToBits, class FromBits>
void expect_nearest_even(uint16_t infinity, const ToBits& to_bits, const FromBits& from_bits) {
  for (uint16_t low = 0; low + 1 < infinity; ++low) {
    const auto high = static_cast<uint16_t>(low + 1);
    const double a = from_bits(low), b = from_bits(high), middle = (a + b) / 2;
    EXPECT_EQ(to_bits(middle), low % 2 == 0 ? low : high) << low;
    EXPECT_EQ(to_bits(std::nextafter(middle, a)), low) << low;
    EXPECT_EQ(to_bits(std::nextafter(middle, b)), high) << low;
    EXPECT_EQ(to_bits(-std::nextafter(middle, b)), high | 0x8000) << low;
  }
}

TEST(Half, RoundsOnceToNearestEven) {
  expect_nearest_even(0x7c00, to_half, half_to_float);
  expect_nearest_even(0x7f80, to_bfloat16, bfloat16_to_float);
}

TEST(Half, TooLargeBecomesInfinite) {
  EXPECT_EQ(to_half(65519.99), 0x7bff);
  EXPECT_EQ(to_half(65520.0), 0x7c00);
  EXPECT_EQ(to_half(-1e300), 0xfc00);
  EXPECT_EQ(to_half(INFINITY), 0x7c00);
  const double largest = bfloat16_to_float(0x7f7f), step = std::ldexp(1.0, 120);
  EXPECT_EQ(to_bfloat16(std::nextafter(largest + step / 2, 0.0)), 0x7f7f);
  EXPECT_EQ(to_bfloat16(largest + step / 2), 0x7f80);
  EXPECT_EQ(to_bfloat16(1e300), 0x7f80);
  EXPECT_EQ(to_bfloat16(-INFINITY), 0xff80);
  EXPECT_EQ(to_half(1e-300), 0);
  EXPECT_EQ(to_half(-1e-300), 0x8000);
}

}  // namespace
}  // namespace tenon
