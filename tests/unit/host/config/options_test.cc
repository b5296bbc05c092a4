#include "host/config/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/config/read.h"

namespace tenon::config {
namespace {

using ::testing::HasSubstr;

std::vector<OptionSpec> declared() {
  Location here{"m.json", 1};
  OptionSpec tf32{"tf32", OptionType::kBool, Value(true, here), {}, {}, {}, "", false};
  OptionSpec ratio{"ratio", OptionType::kFloat, {}, 0.0, 1.0, {}, "", false};
  OptionSpec mode{"mode", OptionType::kString,
                  {},     {},
                  {},     {Value(std::string("fast"), here), Value(std::string("safe"), here)},
                  "",     false};
  OptionSpec pool{"pool", OptionType::kSize, {}, 1024.0, {}, {}, "", false};
  return {tf32, ratio, mode, pool};
}

Table table_of(std::string_view toml) { return *read_toml(toml, "t.toml")->as_table(); }

TEST(Options, DefaultsAndTypes) {
  auto settings = validate_options("cuda", declared(), table_of("ratio = 1\npool = \"1MiB\""));
  ASSERT_EQ(settings.status().to_string(), "OK");
  ASSERT_EQ(settings->size(), 3u);
  EXPECT_EQ((*settings)[0].name, "tf32");
  EXPECT_TRUE(*(*settings)[0].value.as_bool());
  EXPECT_EQ(*(*settings)[1].value.as_double(), 1.0);
  EXPECT_EQ(*(*settings)[2].value.as_int(), 1 << 20);
}

TEST(Options, EveryComplaintWithItsLine) {
  auto settings = validate_options("cuda", declared(),
                                   table_of("tf33 = 1\nratio = 2.5\nmode = \"quick\"\npool = 1\ntf32 = 1"));
  std::string text(settings.status().message());
  EXPECT_EQ(settings.status().kind(), ErrorKind::kConfig);
  EXPECT_THAT(text, HasSubstr("t.toml:1: unknown option 'provider.cuda.options.tf33' (did you mean "
                              "'provider.cuda.options.tf32'?)"));
  EXPECT_THAT(text, HasSubstr("t.toml:2: 'provider.cuda.options.ratio' is 2.5, but must be at most 1"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "t.toml:3: 'provider.cuda.options.mode' is \"quick\", but must be one of \"fast\", \"safe\""));
  EXPECT_THAT(text, HasSubstr("t.toml:4: 'provider.cuda.options.pool' is 1, but must be at least 1024"));
  EXPECT_THAT(text, HasSubstr("t.toml:5: 'provider.cuda.options.tf32' must be of type bool, but is 1"));
}

TEST(Options, AllowedValuesAreComparedInTheOptionsType) {
  const Location here{"m.json", 1};
  const OptionSpec pool{"pool", OptionType::kSize,
                        {},     {},
                        {},     {Value(std::string("1MiB"), here), Value(int64_t{2 << 20}, here)},
                        "",     false};
  for (const char* good : {"pool = 1048576", "pool = \"1024 KiB\"", "pool = \"2MiB\""})
    EXPECT_EQ(validate_options("x", {&pool, 1}, table_of(good)).status().to_string(), "OK") << good;
  auto refused = validate_options("x", {&pool, 1}, table_of("pool = 3"));
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("is 3, but must be one of \"1MiB\", 2097152"));
}

TEST(Options, WhatIsWrongWithAnOptionItself) {
  const Location here{"m.json", 1};
  OptionSpec tiles{"tiles", OptionType::kInt, {}, 1.0, 64.0, {}, "", false};
  EXPECT_EQ(tiles.complaint(), "");
  tiles.values = {Value(std::string("two"), here)};
  EXPECT_EQ(tiles.complaint(), "allows \"two\", which is not of type int");
  tiles.values = {Value(Array{}, here)};
  EXPECT_EQ(tiles.complaint(), "allows [], which is no value of an option");
  tiles.values.clear();
  tiles.max = 0.5;
  EXPECT_EQ(tiles.complaint(), "has the least value 1 above the greatest, 0.5");
}

TEST(Options, AProviderWithoutAny) {
  auto settings = validate_options("cpu", {}, table_of("x = 1"));
  EXPECT_THAT(std::string(settings.status().message()), HasSubstr("provider 'cpu' has no options"));
}

}  // namespace
}  // namespace tenon::config
