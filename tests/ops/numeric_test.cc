// The small element types of the SDK, against a search for the nearest value that knows nothing of bits.
#include "tenon/ep/numeric.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tenon::ep {
namespace {

/// All finite values of F that are not negative, rising, as (value, bits).
template <class F>
std::vector<std::pair<double, uint32_t>> finite_values() {
  std::vector<std::pair<double, uint32_t>> out;
  for (uint32_t bits = 0; bits < F::kSign; ++bits) {
    const float value = F::from_bits(static_cast<decltype(F::bits)>(bits));
    if (std::isfinite(value)) out.emplace_back(value, bits);
  }
  return out;
}

template <class F>
uint32_t nearest(const std::vector<std::pair<double, uint32_t>>& values, double x) {
  const auto above = std::lower_bound(values.begin(), values.end(), std::pair(x, 0u));
  if (above == values.end()) return values.back().second;
  if (above == values.begin()) return above->second;
  const auto below = above - 1;
  const double up = above->first - x, down = x - below->first;
  if (up != down) return up < down ? above->second : below->second;
  return (above->second & 1) == 0 ? above->second : below->second;
}

template <class F>
class SmallFloatTest : public testing::Test {};
using Formats = testing::Types<Float16, BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ,
                               Float6E2M3, Float6E3M2, Float4E2M1>;
TYPED_TEST_SUITE(SmallFloatTest, Formats);

TYPED_TEST(SmallFloatTest, EveryValueSurvivesTheWayThroughFloatAndDouble) {
  using F = TypeParam;
  for (uint32_t bits = 0; bits < 2 * F::kSign; ++bits) {
    const F from = F::from_bits(static_cast<decltype(F::bits)>(bits));
    if (from.is_nan()) {
      EXPECT_TRUE(std::isnan(static_cast<float>(from))) << bits;
      EXPECT_TRUE(F(static_cast<float>(from)).is_nan()) << bits;
      continue;
    }
    const float value = from;
    if (std::isinf(value)) {
      EXPECT_EQ(F::from(value, false).bits, bits);
      continue;
    }
    EXPECT_EQ(F(value).bits, bits);
    EXPECT_EQ(F(static_cast<double>(value)).bits, bits);
  }
}

TYPED_TEST(SmallFloatTest, RoundsToNearestTiesToEven) {
  using F = TypeParam;
  const auto values = finite_values<F>();
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const size_t at = random() % (values.size() - 1);
    const double low = values[at].first, high = values[at + 1].first;
    const double share = i % 4 == 0 ? 0.5 : static_cast<double>(random() % 1000) / 999;
    const double x = low + (high - low) * share;
    ASSERT_EQ(F(x).bits, nearest<F>(values, x)) << x;
    ASSERT_EQ(F(static_cast<float>(x)).bits, nearest<F>(values, static_cast<float>(x))) << x;
    if (F(-x).bits != 0) {
      ASSERT_EQ(F(-x).bits, F(x).bits | F::kSign) << x;
    }
  }
}

TYPED_TEST(SmallFloatTest, OutOfRange) {
  using F = TypeParam;
  const float most = F::from_bits(static_cast<decltype(F::bits)>(F::kMax));
  for (const double x : {most * 4.0, 1e300, static_cast<double>(INFINITY)}) {
    EXPECT_EQ(static_cast<float>(F::from(x, true)), most) << x;
    EXPECT_EQ(static_cast<float>(F::from(-x, true)), -most) << x;
    const F loose = F::from(x, false);
    EXPECT_TRUE(loose.is_nan() || std::isinf(static_cast<float>(loose)) || F::kNaN == F::kSign) << x;
  }
}

TEST(Float8E8M0Test, Rounding) {
  using E = Float8E8M0;
  EXPECT_EQ(static_cast<float>(E(1.0f)), 1.0f);
  EXPECT_EQ(static_cast<float>(E::from(1.1f, true, E::Round::kUp)), 2.0f);
  EXPECT_EQ(static_cast<float>(E::from(1.9f, true, E::Round::kDown)), 1.0f);
  EXPECT_EQ(static_cast<float>(E::from(1.5f, true, E::Round::kNearest)), 2.0f);
  EXPECT_EQ(static_cast<float>(E::from(1.4f, true, E::Round::kNearest)), 1.0f);
  EXPECT_EQ(E::from(3e38f, true, E::Round::kUp).bits, 254);
  EXPECT_TRUE(E::from(3e38f, false, E::Round::kUp).is_nan());
  EXPECT_EQ(E(0.0f).bits, 0);
}

template <class T>
void packed_round_trip() {
  constexpr int64_t kCount = 11;
  uint8_t memory[16];
  std::memset(memory, 0xAA, sizeof(memory));
  for (int64_t i = 0; i < kCount; ++i)
    store_element<T>(memory, i, T::from_bits(static_cast<uint8_t>(i * 5 % (1 << T::kWidth))));
  for (int64_t i = 0; i < kCount; ++i)
    EXPECT_EQ(load_element<T>(memory, i).bits, i * 5 % (1 << T::kWidth)) << i;
  EXPECT_EQ(memory[dtype_bytes(kDtypeOf<T>, kCount)], 0xAA);
}

TEST(PackedTest, ElementsDoNotTouchTheirNeighbours) {
  packed_round_trip<Int4>();
  packed_round_trip<UInt4>();
  packed_round_trip<Int2>();
  packed_round_trip<UInt2>();
  packed_round_trip<Float4E2M1>();
  packed_round_trip<Float6E2M3>();
  packed_round_trip<Float6E3M2>();
}

TEST(PackedTest, SignedValues) {
  EXPECT_EQ(Int4(-8), -8);
  EXPECT_EQ(Int4(9), -7);
  EXPECT_EQ(UInt4(17), 1);
  EXPECT_EQ(Int2(-2), -2);
  EXPECT_EQ(Int2(2), -2);
}

}  // namespace
}  // namespace tenon::ep
