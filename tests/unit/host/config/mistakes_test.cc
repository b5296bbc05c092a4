// Mistakes in a config file: what the messages say, and how soon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "host/config/config.h"
#include "host/config/read.h"
#include "tests/support/cpu_time.h"
#include "tests/unit/host/config/message_of.h"

namespace tenon::config {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view toml) {
  Config config;
  Status status = config.apply_toml(toml, "t.toml");
  EXPECT_FALSE(status.ok()) << toml;
  EXPECT_EQ(status.kind(), ErrorKind::kConfig);
  return message_of(status);
}

TEST(Config, JsonMistakesNameTheirLine) {
  Config config;
  EXPECT_THAT(message_of(config.apply_json("{\n\"threads\": {\n\"count\": \"x\"\n}}", "t.json")),
              HasSubstr("t.json:3: 'threads.count' must be an integer, not a string"));
  EXPECT_THAT(message_of(config.apply_json("{\n\"threads\": {\n\"count\": 99999\n}}", "t.json")),
              HasSubstr("t.json:3:"));
  EXPECT_THAT(message_of(config.apply_json("{\n  \"a\" 1}", "t.json")),
              HasSubstr("t.json:2: not valid JSON"));
  EXPECT_THAT(message_of(config.apply_json("{\"schema\": 1,\n\"schema\": 1}", "t.json")),
              HasSubstr("t.json:2: key 'schema' is given twice"));
  EXPECT_THAT(message_of(config.apply_json("[]", "t.json")), HasSubstr("must be an object"));
  EXPECT_THAT(message_of(config.apply_json("", "t.json")), HasSubstr("not valid JSON"));
  EXPECT_THAT(message_of(config.apply_json(std::string(100, '['), "t.json")), HasSubstr("nested deeper"));
}

TEST(Config, UnknownKeysNameTheNearest) {
  EXPECT_EQ(error_of("[select]\n\nordr = [\"cpu\"]"),
            "t.toml:3: unknown key 'select.ordr' (did you mean 'select.order'?)");
  EXPECT_THAT(error_of("[selct]\norder = [\"cpu\"]"),
              HasSubstr("t.toml:1: unknown key 'selct' (did you mean 'select'?)"));
  EXPECT_THAT(error_of("[provider.cuda]\nverson = \"1\""),
              HasSubstr("'provider.cuda.verson' (did you mean 'provider.cuda.version'?)"));
  EXPECT_THAT(error_of("[upgrade]\nwhatever = 1"), HasSubstr("(valid: upgrade.mode)"));
}

TEST(Config, AllMistakesOfAFileAndNothingApplied) {
  Config config;
  Status status = config.apply_toml(
      "[threads]\ncount = 2\n[select]\nfallback = \"nxt\"\norder = []\n[limits]\ngraph_depth = "
      "0\nmodel_bytes = \"4 parsec\"\n"
      "[discovery]\nsearch = [\"here\"]\nallow = \"cpu\"\n",
      "t.toml");
  std::string text = message_of(status);
  EXPECT_THAT(text, HasSubstr("t.toml:4: 'select.fallback' cannot be \"nxt\" (did you mean 'next'?)"));
  EXPECT_THAT(text, HasSubstr("t.toml:5: 'select.order' is an empty list"));
  EXPECT_THAT(text, HasSubstr("t.toml:7: 'limits.graph_depth' is 0, outside its range 1..1024"));
  EXPECT_THAT(text, HasSubstr("t.toml:8: 'limits.model_bytes' is invalid: '4 parsec' is not a size"));
  EXPECT_THAT(text, HasSubstr("t.toml:10: 'discovery.search' holds 'here', which is not an absolute path"));
  EXPECT_THAT(text, HasSubstr("t.toml:11: 'discovery.allow' must be a list of strings, not a string"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_EQ(config->threads.count, 0);
}

TEST(Config, WrongThings) {
  EXPECT_THAT(error_of("select = 3"), HasSubstr("'select' must be a table, not an integer"));
  EXPECT_THAT(error_of("schema = 2"), HasSubstr("'schema' is 2, but this version reads only 1"));
  EXPECT_THAT(error_of("[provider.Cuda]\n"), HasSubstr("'Cuda' is not a provider id"));
  EXPECT_THAT(error_of("[provider]\ncuda = 1\n"), HasSubstr("'provider.cuda' must be a table"));
  EXPECT_THAT(error_of("[provider.cuda]\noptions = 1\n"), HasSubstr("must be a table"));
  EXPECT_THAT(error_of("[provider.cuda]\nversion = \"newest\"\n"), HasSubstr("is not a version range"));
  EXPECT_THAT(error_of("[select]\norder = \"cpu\""), HasSubstr("or a list such as [\"cpu\"]"));
  EXPECT_THAT(error_of("[select]\norder = [\"cpu\", \"cpu\"]"), HasSubstr("names 'cpu' twice"));
  EXPECT_THAT(error_of("[memory]\nhost_limit = -1"), HasSubstr("is negative"));
  EXPECT_THAT(error_of("[shapes]\ninput = [[-1]]"), HasSubstr("is not a shape"));
  EXPECT_THAT(error_of("[[placement]]\nprovider = \"cpu\""), HasSubstr("lacks 'match'"));
  EXPECT_THAT(error_of("[[placement]]\nmatch = { node = \"(\" }\nprovider = \"cpu\""),
              HasSubstr("not a regular expression"));
  EXPECT_THAT(error_of("[[placement]]\nmatch = { opp = [\"Conv\"] }\nprovider = \"cpu\""),
              HasSubstr("did you mean 'op'?"));
  EXPECT_THAT(error_of("[threads]\ncount = 1979-05-27"), HasSubstr("t.toml:2: dates and times"));
  EXPECT_THAT(error_of("[threads\n"), HasSubstr("t.toml:1: invalid TOML"));
}

TEST(Config, WhatThisVersionCannotDoIsRefusedWithPlaceReasonAndCure) {
  EXPECT_THAT(error_of("[provider.cuda]\n\nisolation = \"process\""),
              testing::AllOf(
                  HasSubstr("t.toml:3: 'provider.cuda.isolation' cannot be \"process\": a provider cannot"),
                  HasSubstr("set it to \"inproc\"")));
  EXPECT_THAT(error_of("[upgrade]\nmode = \"migrate\""), HasSubstr("set it to \"next-session\""));
  EXPECT_THAT(error_of("[discovery]\ntrust = \"signature\""), HasSubstr("set it to \"hash\""));
}

TEST(Config, ShapesAtOnePositionBelongTogether) {
  EXPECT_THAT(error_of("[shapes]\ninput = { a = [[1], [2]], b = [[1]] }"),
              HasSubstr("'shapes.input' gives 1 shapes for 'b' and 2 for 'a'"));
  EXPECT_THAT(error_of("[shapes]\ninput = []"), HasSubstr("must hold at least one shape"));
  EXPECT_THAT(error_of("[shapes]\ninput = {}"), HasSubstr("must name at least one input"));
}

TEST(Config, CheckProvidersNamesUnknownOnesAndOptions) {
  Config config;
  ASSERT_TRUE(
      config
          .apply_toml(
              "[select]\norder = [\n\"cpu\",\n\"cudda/gpu:0\"]\n[provider.cpu.options]\nisaa = \"avx2\"\n"
              "level = 12\n[[placement]]\nmatch = { op = \"Conv\" }\nprovider = \"npu\"",
              "t.toml")
          .ok());
  OptionSpec isa{"isa", OptionType::kString, {}, {}, {}, {}, "", false};
  OptionSpec level{"level", OptionType::kInt, {}, 0.0, 9.0, {}, "", false};
  std::vector<OptionSpec> options = {isa, level};
  std::vector<KnownProvider> known = {{"cpu", options}, {"cuda", {}}};
  std::string text = message_of(config.check_providers(known));
  EXPECT_THAT(text, HasSubstr("t.toml:4: 'select.order' names the unknown provider 'cudda' (did you mean "
                              "'cuda'?); installed: cpu, cuda"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "t.toml:6: unknown option 'provider.cpu.options.isaa' (did you mean 'provider.cpu.options.isa'?)"));
  EXPECT_THAT(text, HasSubstr("t.toml:7: 'provider.cpu.options.level' is 12, but must be at most 9"));
  EXPECT_THAT(text, HasSubstr("t.toml:10: 'placement' names the unknown provider 'npu'"));
  ASSERT_TRUE(config.set("select.fallback", "next").ok());
  EXPECT_THAT(message_of(config.check_providers(known)), Not(HasSubstr("unknown provider")));
}

TEST(Config, AFileOfMistakesIsToldInAFewWordsAndSoon) {
  std::string text;
  for (int i = 0; text.size() < (1 << 19); ++i) text += "unknown_key_" + std::to_string(i) + " = 1\n";
  const double begin = test::cpu_seconds();
  Config config;
  const std::string message = message_of(config.apply_toml(text, "t.toml"));
  EXPECT_LT(test::cpu_seconds() - begin, 5);
  EXPECT_THAT(message, HasSubstr("more keys were not checked"));
  EXPECT_LT(message.size(), 16000u);
}

TEST(Config, JsonOfManyKeysIsReadInLinearTime) {
  std::string text;
  test::expect_nearly_linear(60'000, [&](uint32_t keys) {
    text = "{";
    for (uint32_t i = 0; i < keys; ++i) text += "\"k" + std::to_string(i) + "\":1,";
    text.back() = '}';
    const double begin = test::cpu_seconds();
    EXPECT_TRUE(read_json(text, "t.json").ok());
    return test::cpu_seconds() - begin;
  });
  text.back() = ',';
  EXPECT_THAT(message_of(read_json(text + "\"k7\":1}", "t.json").status()), HasSubstr("'k7' is given twice"));
}

}  // namespace
}  // namespace tenon::config
