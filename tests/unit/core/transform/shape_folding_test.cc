#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;

const std::string kName = "shape_folding";

ir::Type batched(std::vector<Dim> rest) {
  rest.insert(rest.begin(), Dim(std::string("N")));
  return type_of(ElementType::kFloat32, std::move(rest));
}

TEST(ShapeFolding, KnownDimensionsBecomeConstants) {
  GraphBuilder b;
  const auto x = b.input("x", batched({4, 6}));
  const auto width = b.op("Gather", {b.op("Shape", {x}), b.ints({2})});
  const auto half = b.op("Div", {width, b.ints({2})});
  b.output(b.op("Slice", {x, b.ints({0}), half, b.ints({2})}));
  const auto result = transformed(b, kName, {some({2, 4, 6})});
  EXPECT_EQ(result.nodes(), 1u);
}

TEST(ShapeFolding, AReshapeTargetWithOneOpenDimension) {
  GraphBuilder b;
  const auto x = b.input("x", batched({4, 6}));
  const auto batch = b.op("Gather", {b.op("Shape", {x}), b.ints({0})});
  b.output(b.op("Reshape", {x, b.op("Concat", {batch, b.ints({24})}, {Attribute::of_int("axis", 0)})}));
  const auto result = transformed(b, kName, {some({3, 4, 6})});
  EXPECT_EQ(result.nodes(), 1u);
}

TEST(ShapeFolding, AReshapeTargetThatCopiesDimensions) {
  GraphBuilder b;
  const auto x =
      b.input("x", type_of(ElementType::kFloat32, {Dim(std::string("N")), Dim(std::string("S")), Dim(12)}));
  const auto shape = b.op("Shape", {x});
  const auto batch = b.op("Gather", {shape, b.ints({0})}), length = b.op("Gather", {shape, b.ints({1})});
  const auto target = b.op("Concat", {batch, length, b.ints({3, 4})}, {Attribute::of_int("axis", 0)});
  b.output(b.op("Reshape", {x, target}));
  const auto result = transformed(b, kName, {some({2, 5, 12})});
  EXPECT_EQ(result.nodes(), 1u);
}

TEST(ShapeFolding, UnknownArithmeticStays) {
  GraphBuilder b;
  const auto x =
      b.input("x", type_of(ElementType::kFloat32, {Dim(std::string("N")), Dim(std::string("S")), Dim(4)}));
  const auto shape = b.op("Shape", {x});
  const auto batch = b.op("Gather", {shape, b.ints({0})}), length = b.op("Gather", {shape, b.ints({1})});
  const auto target = b.op("Concat", {length, batch, b.ints({4})}, {Attribute::of_int("axis", 0)});
  b.output(b.op("Reshape", {x, target}));
  const auto result = transformed(b, kName, {some({2, 5, 4})});
  EXPECT_EQ(result.changes, 0u);
}

TEST(ShapeFolding, OutputsOfTheModelStay) {
  GraphBuilder b;
  b.output(b.op("Shape", {b.input("x", f32({2, 3}))}));
  EXPECT_EQ(transformed(b, kName, {some({2, 3})}).changes, 0u);
}

}  // namespace
}  // namespace tenon::testing
