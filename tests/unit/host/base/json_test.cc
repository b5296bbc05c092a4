#include "host/base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace tenon::config {
namespace {

static_assert(std::is_nothrow_move_constructible_v<Json> && std::is_nothrow_move_assignable_v<Json> &&
              std::is_nothrow_move_constructible_v<Json::Member>);

TEST(Json, KeepsTheOrderOfMembers) {
  Json out;
  out["z"] = 1;
  out["a"]["nested"] = true;
  out["list"] = Json::array();
  for (const char* text : {"one", "two"}) out["list"].push_back(text);
  out["z"] = -2;
  EXPECT_EQ(out.dump(), R"({"z":-2,"a":{"nested":true},"list":["one","two"]})");
}

TEST(Json, MembersInBraces) {
  Json list;
  list.push_back({{"name", "conv"}, {"at", {{"line", 3}}}});
  list.push_back({{"name", std::string("relu")}});
  EXPECT_EQ(list.dump(), R"([{"name":"conv","at":{"line":3}},{"name":"relu"}])");
  EXPECT_EQ(Json(std::map<std::string, int64_t>{{"b", 2}, {"a", 1}}).dump(), R"({"a":1,"b":2})");
  EXPECT_EQ(Json(std::vector<std::string>{"x", ""}).dump(), R"(["x",""])");
}

TEST(Json, EmptyIsNotNull) {
  EXPECT_EQ(Json().dump(), "null");
  EXPECT_EQ(Json::array().dump(), "[]");
  EXPECT_EQ(Json::object().dump(), "{}");
  EXPECT_EQ(Json("").dump(), R"("")");
  EXPECT_EQ(Json(std::vector<std::string>()).dump(), "[]");
  EXPECT_TRUE(Json::array().empty());
}

TEST(Json, Numbers) {
  EXPECT_EQ(Json(INT64_MIN).dump(), "-9223372036854775808");
  EXPECT_EQ(Json(UINT64_MAX).dump(), "18446744073709551615");
  EXPECT_EQ(Json(2.0).dump(), "2.0");
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(NAN).dump(), "null");
  EXPECT_EQ(Json(-INFINITY).dump(), "null");
  for (const double value : {1e300, -5e-324, 123456789.125})
    EXPECT_EQ(nlohmann::json::parse(Json(value).dump()).get<double>(), value);
}

TEST(Json, TextsAreEscapedAndUtf8) {
  std::string every;
  for (int c = 0; c < 128; ++c) every += static_cast<char>(c);
  EXPECT_EQ(nlohmann::json::parse(Json(every).dump()).get<std::string>(), every);
  EXPECT_EQ(Json("a\"\\\n\x01").dump(), R"("a\"\\\n\u0001")");
  EXPECT_EQ(Json("\xC3\xB6 \xFF\xC3").dump(), "\"\xC3\xB6 \xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(Json({{"\xFF", 1}}).dump(), "{\"\xEF\xBF\xBD\":1}") << "names too";
}

TEST(Json, Indented) {
  EXPECT_EQ(Json({{"a", std::vector<int>{1, 2}}, {"b", Json::object()}}).dump(2),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}");
}

}  // namespace
}  // namespace tenon::config
