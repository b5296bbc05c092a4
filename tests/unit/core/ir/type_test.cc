#include "core/ir/type.h"

#include <gtest/gtest.h>

namespace tenon::ir {
namespace {

TEST(ElementType, NamesAreInverse) {
  for (uint32_t number = 1; number <= 28; ++number) {
    auto type = static_cast<ElementType>(number);
    EXPECT_TRUE(is_element_type(number));
    EXPECT_EQ(element_type_from_name(element_type_name(type)), type) << number;
  }
  EXPECT_FALSE(is_element_type(0));
  EXPECT_FALSE(is_element_type(29));
  EXPECT_EQ(element_type_name(static_cast<ElementType>(99)), "undefined");
  EXPECT_EQ(element_type_from_name("undefined"), ElementType::kUndefined);
  EXPECT_EQ(element_type_from_name("float33"), ElementType::kUndefined);
}

TEST(ElementType, PackedBytesRoundUpAndDoNotOverflow) {
  int64_t bytes = 0;
  EXPECT_TRUE(packed_bytes(ElementType::kInt4, 3, &bytes));
  EXPECT_EQ(bytes, 2);
  EXPECT_TRUE(packed_bytes(ElementType::kUInt2, 9, &bytes));
  EXPECT_EQ(bytes, 3);
  EXPECT_TRUE(packed_bytes(ElementType::kComplex128, 2, &bytes));
  EXPECT_EQ(bytes, 32);
  EXPECT_TRUE(packed_bytes(ElementType::kInt4, INT64_MAX, &bytes));
  EXPECT_FALSE(packed_bytes(ElementType::kFloat32, INT64_MAX / 2, &bytes));
  EXPECT_FALSE(packed_bytes(ElementType::kString, 1, &bytes));
  EXPECT_FALSE(packed_bytes(ElementType::kInt8, -1, &bytes));
}

TEST(Shape, CountsAndPrints) {
  EXPECT_EQ(Shape::of({2, 3}).element_count(), 6);
  EXPECT_EQ(Shape::of({}).element_count(), 1);
  EXPECT_EQ(Shape::of({INT64_MAX, 0, INT64_MAX}).element_count(), 0);
  EXPECT_EQ(Shape::of({INT64_MAX, 2}).element_count(), -1);
  EXPECT_EQ(Shape().element_count(), -1);
  Shape dynamic({Dim(1), Dim("N"), Dim()});
  EXPECT_FALSE(dynamic.is_static());
  EXPECT_EQ(dynamic.to_string(), "[1,N,?]");
  EXPECT_EQ(Shape().to_string(), "[?...]");
}

TEST(Type, ComparesAndPrints) {
  Type tensor = Type::tensor(ElementType::kFloat32, Shape::of({2}));
  EXPECT_EQ(Type::sequence(tensor), Type::sequence(tensor));
  EXPECT_FALSE(Type::sequence(tensor) == Type::optional(tensor));
  EXPECT_FALSE(Type::sequence(tensor) == Type::sequence(Type::tensor(ElementType::kFloat32)));
  EXPECT_EQ(Type::map(ElementType::kInt64, Type::sequence(tensor)).to_string(), "map(int64,seq(float32[2]))");
  EXPECT_EQ(Type::optional(Type::tensor(ElementType::kBool)).to_string(), "optional(bool[?...])");
}

}  // namespace
}  // namespace tenon::ir
