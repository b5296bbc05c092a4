#include "host/api/type_text.h"

#include <gtest/gtest.h>

namespace tenon::c_api {
namespace {

using ir::ElementType;
using ir::Type;

TEST(TypeText, ReadsWhatToStringWrites) {
  const Type tensor = Type::tensor(ElementType::kFloat32);
  for (const Type& type :
       {tensor, Type::sequence(tensor), Type::optional(Type::sequence(tensor)),
        Type::map(ElementType::kInt64, tensor), Type::sequence(Type::map(ElementType::kString, tensor))}) {
    const auto read = parse_type(type.to_string());
    ASSERT_TRUE(read.ok()) << type.to_string();
    EXPECT_EQ(*read, type) << type.to_string();
  }
  EXPECT_EQ(*parse_type("float16[N,3,?]"), Type::tensor(ElementType::kFloat16)) << "dims are not read";
  EXPECT_EQ(*parse_type(""), Type());
}

TEST(TypeText, RefusesOtherTexts) {
  for (const char* text : {"float", "seq(float32[]", "seq()", "map(float32[])", "float32[", "float32[]x",
                           "optional(seq(?)", "seq", "map(int64,)"}) {
    EXPECT_FALSE(parse_type(text).ok()) << text;
  }
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "seq(";
  EXPECT_FALSE(parse_type(deep).ok());
}

}  // namespace
}  // namespace tenon::c_api
