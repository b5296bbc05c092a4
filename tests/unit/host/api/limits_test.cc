// Limits of the C API: what is too deep, too long or no text of its kind.
#include <gmock/gmock.h>

#include <cstring>

#include "tenon/tenon.hpp"

namespace tenon::test {
namespace {

using testing::HasSubstr;

TEST(ApiLimits, ValuesNestedTooDeepAreRefused) {
  Value value = Value::tensor<float>({1}, {1});
  tenon_status status = TENON_OK;
  int depth = 0;
  tenon_error error{};
  error.struct_size = sizeof(error);
  for (; status == TENON_OK && depth < 300000; ++depth) {
    tenon_value* element = value.get();
    tenon_value* outer = nullptr;
    status = api().value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, &element, 1, &outer, &error);
    if (status == TENON_OK) value = Value::adopt(outer);
  }
  EXPECT_EQ(status, TENON_INVALID_ARGUMENT);
  EXPECT_EQ(depth, 65);
  EXPECT_THAT(error.message, HasSubstr("nested deeper than 64"));
}

TEST(ApiLimits, ALongErrorSaysThatItWasCut) {
  const std::string path = "/nowhere/" + std::string(3000, 'x') + "\xC3\xA4";
  tenon_error error{};
  error.struct_size = sizeof(error);
  ASSERT_NE(api().provider_register(as_str(path), &error), TENON_OK);
  const std::string told = std::string(error.where) + error.message;
  EXPECT_THAT(told, HasSubstr("... [cut: "));
  EXPECT_LT(std::strlen(error.message), sizeof(error.message));
}

TEST(ApiLimits, ConfigSetRefusesBrokenToml) {
  for (const char* text : {"[\"cpu\"", "{ a = ", "\"cpu", "[1, 2]]", "'x"}) {
    Config config;
    try {
      config.set("select.order", text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), TENON_FAILURE_CONFIG) << text;
      EXPECT_THAT(error.what(), HasSubstr("is not a TOML value")) << text;
    }
  }
}

}  // namespace
}  // namespace tenon::test
