// Placement rules: what they match, and what no rule can be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/config/config.h"
#include "tests/support/cpu_time.h"
#include "tests/unit/host/config/message_of.h"

namespace tenon::config {
namespace {

using ::testing::HasSubstr;

TEST(Placement, Matches) {
  Config config;
  ASSERT_TRUE(config
                  .apply_toml("[[placement]]\nmatch = { op = [\"Conv\", \"com.microsoft:Gelu\"], node = "
                              "\"/enc/.*\", model = \"b*\" }\n"
                              "provider = \"cpu\"",
                              "t.toml")
                  .ok());
  const PlacementRule& rule = config->placement[0];
  EXPECT_TRUE(rule.matches("", "Conv", "/enc/1", "bert.onnx"));
  EXPECT_TRUE(rule.matches("ai.onnx", "Conv", "/enc/1", "bert.onnx"));
  EXPECT_TRUE(rule.matches("com.microsoft", "Gelu", "/enc/1", "bert.onnx"));
  EXPECT_FALSE(rule.matches("", "Gelu", "/enc/1", "bert.onnx"));
  EXPECT_FALSE(rule.matches("", "Conv", "/dec/1", "bert.onnx"));
  EXPECT_FALSE(rule.matches("", "Conv", "/enc/1", "gpt.onnx"));
  EXPECT_TRUE(rule.matches("", "Conv", "/enc/" + std::string(5000, 'x'), "bert.onnx"));
}

TEST(Placement, AnExpressionTakesTimeInProportionToTheName) {
  Config config;
  ASSERT_TRUE(
      config.apply_toml("[[placement]]\nmatch = { node = \"(x+x+)+y\" }\nprovider = \"cpu\"", "t.toml").ok());
  const double begin = test::cpu_seconds();
  EXPECT_FALSE(config->placement[0].matches("", "Conv", std::string(20000, 'x'), "m"));
  std::string good(20001, 'x');
  good.back() = 'y';
  EXPECT_TRUE(config->placement[0].matches("", "Conv", good, "m"));
  EXPECT_LT(test::cpu_seconds() - begin, 2);
}

TEST(Placement, WhatIsNoExpressionIsRefusedWithTheReason) {
  const std::pair<const char*, const char*> rows[] = {
      {"(", "missing )"}, {"(a)\\1", "invalid escape"}, {"(?=a)b", "invalid"}};
  for (const auto& [expression, why] : rows) {
    Config config;
    const std::string text =
        std::string("[[placement]]\nmatch = { node = '") + expression + "' }\nprovider = 'cpu'";
    EXPECT_THAT(message_of(config.apply_toml(text, "t.toml")),
                AllOf(HasSubstr("not a regular expression"), HasSubstr(why)));
  }
}

}  // namespace
}  // namespace tenon::config
