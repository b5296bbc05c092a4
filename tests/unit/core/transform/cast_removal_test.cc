#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;

const std::string kName = "cast_removal";

ir::ValueId cast(GraphBuilder& b, ir::ValueId x, ElementType to) {
  return b.op("Cast", {x}, {Attribute::of_int("to", static_cast<int64_t>(to))});
}

TEST(CastRemoval, AWiderTypeInBetweenGoes) {
  GraphBuilder b;
  const auto x = b.input("x", type_of(ElementType::kInt32, {3}));
  b.output(cast(b, cast(b, x, ElementType::kInt64), ElementType::kFloat32));
  b.output(cast(b, cast(b, x, ElementType::kFloat64), ElementType::kInt8));
  const auto result = transformed(b, kName, {Array{{3}, {-5, 0, 300}}});
  EXPECT_EQ(result.nodes(), 2u);
}

TEST(CastRemoval, ThereAndBackLeavesNothing) {
  GraphBuilder b;
  const auto x = b.input("x", f32({3}));
  b.output(b.op("Neg", {cast(b, cast(b, x, ElementType::kFloat64), ElementType::kFloat32)}));
  EXPECT_EQ(transformed(b, "", {some({3})}).nodes(), 1u);
}

TEST(CastRemoval, ALossyTypeInBetweenStays) {
  for (const ElementType between :
       {ElementType::kInt32, ElementType::kInt64, ElementType::kBool, ElementType::kInt8}) {
    GraphBuilder b;
    const auto x = b.input("x", f32({3}));
    b.output(cast(b, cast(b, x, between), ElementType::kFloat32));
    EXPECT_EQ(transformed(b, kName, {Array{{3}, {0.5, 2.75, -1.5}}}).changes, 0u);
  }
  GraphBuilder b;
  const auto x = b.input("x", i64({1}));
  b.output(cast(b, cast(b, x, ElementType::kFloat32), ElementType::kInt64));
  EXPECT_EQ(transformed(b, kName, {Array{{1}, {16777217}}}).changes, 0u);
}

}  // namespace
}  // namespace tenon::testing
