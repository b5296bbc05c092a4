// The options of an instance, as a provider's classes read them.
#include "tenon/ep/options.hpp"

#include <gtest/gtest.h>

namespace tenon::ep {
namespace {

tenon_option option(std::string_view name, uint32_t type, int64_t i, double f, std::string_view s) {
  return {to_str(name), type, 0, i, f, to_str(s)};
}

TEST(Options, AreReadByNameAndType) {
  const tenon_option given[] = {
      option("warm", TENON_OPTION_BOOL, 1, 0, ""), option("depth", TENON_OPTION_INT, -3, 0, ""),
      option("share", TENON_OPTION_FLOAT, 0, 0.5, ""), option("mode", TENON_OPTION_STRING, 0, 0, "fast")};
  tenon_instance_params params{};
  params.struct_size = sizeof(params);
  params.precision = TENON_PRECISION_BF16;
  params.deterministic = 1;
  params.strict = 1;
  params.memory_limit = 77;
  params.options = given;
  params.option_count = 4;
  const InstanceSettings settings(params);
  const Options copy = settings.options;  // kernels get copies of the settings
  EXPECT_TRUE(copy.flag("warm", false));
  EXPECT_EQ(copy.integer("depth", 0), -3);
  EXPECT_EQ(copy.number("share", 0), 0.5);
  EXPECT_EQ(copy.text("mode", ""), "fast");
  EXPECT_EQ(settings.precision, uint32_t{TENON_PRECISION_BF16});
  EXPECT_TRUE(settings.deterministic);
  EXPECT_TRUE(settings.strict);
  EXPECT_EQ(settings.memory_limit, 77u);
}

TEST(Options, ThatAreAbsentHaveTheOtherValue) {
  const Options none;
  EXPECT_TRUE(none.flag("warm", true));
  EXPECT_EQ(none.integer("depth", 9), 9);
  EXPECT_EQ(none.number("share", 0.25), 0.25);
  EXPECT_EQ(none.text("mode", "auto"), "auto");
}

TEST(Options, OfAnotherTypeAreAnError) {
  const tenon_option given[] = {option("depth", TENON_OPTION_INT, 4, 0, "")};
  tenon_instance_params params{};
  params.options = given;
  params.option_count = 1;
  const Options options(params);
  try {
    static_cast<void>(options.text("depth", ""));
    FAIL() << "an integer was read as a text";
  } catch (const Error& e) {
    EXPECT_EQ(e.code, TENON_INVALID_ARGUMENT);
    EXPECT_EQ(e.text, "option 'depth' has another type in the manifest");
  }
}

}  // namespace
}  // namespace tenon::ep
