#include "core/base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon {
namespace {

TEST(NearestName, TypingMistakesOnly) {
  const std::vector<std::string> names = {"order", "fallback", "on_declined"};
  EXPECT_EQ(nearest_name("ordr", names), "order");
  EXPECT_EQ(nearest_name("oredr", names), "order");
  EXPECT_EQ(nearest_name("ORDER", names), "order");
  EXPECT_EQ(nearest_name("fall_back", names), "fallback");
  EXPECT_EQ(nearest_name("zzzzz", names), "");
  EXPECT_EQ(nearest_name(std::string(10000, 'o'), names), "");
}

TEST(NearestName, ASwapIsOneEditAndTheFirstOfTheNearestWins) {
  const std::vector<std::string_view> names = {"then", "they"};
  EXPECT_EQ(nearest_name("hten", names), "then");
  EXPECT_EQ(nearest_name("the", names), "then");
  // Two swaps are as near as two replaced letters.
  EXPECT_EQ(nearest_name("badc", std::vector<std::string_view>{"abcd"}), "abcd");
  EXPECT_EQ(nearest_name("badcfe", std::vector<std::string_view>{"abcdef"}), "");
}

TEST(NearestName, ReplacingEveryLetterIsNoTypingMistake) {
  EXPECT_EQ(nearest_name("ab", std::vector<std::string_view>{"xy"}), "");
  EXPECT_EQ(nearest_name("", std::vector<std::string_view>{"xy"}), "");
}

}  // namespace
}  // namespace tenon
