#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;

const std::string kName = "identity_removal";

TEST(IdentityRemoval, RemovesWhatChangesNothing) {
  GraphBuilder b;
  auto x = b.input("x", f32({2, 3}));
  x = b.op("Identity", {x});
  x = b.op("Dropout", {x});
  x = b.op("Cast", {x}, {Attribute::of_int("to", 1)});
  x = b.op("Reshape", {x, b.ints({2, -1})});
  x = b.op("Transpose", {x}, {Attribute::of_ints("perm", {0, 1})});
  x = b.op("Pad", {x, b.ints({0, 0, 0, 0})});
  x = b.op("Slice", {x, b.ints({0}), b.ints({INT32_MAX}), b.ints({1})});
  x = b.op("Concat", {x}, {Attribute::of_int("axis", 0)});
  x = b.op("Mul", {x, b.constant(floats({}, {1}))});
  x = b.op("Expand", {x, b.ints({1, 3})});
  b.output(b.op("Relu", {x}));
  const auto result = transformed(b, kName, {some({2, 3})});
  EXPECT_EQ(result.nodes(), 1u);
}

TEST(IdentityRemoval, WithSymbolicDimensions) {
  GraphBuilder b;
  const auto x = b.input("x", type_of(ElementType::kFloat32, {Dim(std::string("N")), 6}));
  b.output(b.op("Relu", {b.op("Reshape", {x, b.ints({-1, 6})})}));
  EXPECT_EQ(transformed(b, kName, {some({3, 6})}).nodes(), 1u);
}

TEST(IdentityRemoval, AnOutputTakesOverTheNameOfWhatItCopies) {
  GraphBuilder b;
  const auto y = b.op("Relu", {b.input("x", f32({2}))});
  b.output(b.op("Identity", {y}));
  EXPECT_EQ(transformed(b, kName, {some({2})}).nodes(), 1u);
}

TEST(IdentityRemoval, FromInputToOutputAndDoubleOutputsStay) {
  GraphBuilder through, twice;
  through.output(through.op("Identity", {through.input("x", f32({2}))}));
  EXPECT_EQ(transformed(through, kName, {some({2})}).nodes(), 1u);
  const auto y = twice.op("Relu", {twice.input("x", f32({2}))});
  twice.output(y);
  twice.output(twice.op("Identity", {y}));
  EXPECT_EQ(transformed(twice, kName, {some({2})}).nodes(), 2u);
}

TEST(IdentityRemoval, WhatDoesSomethingStays) {
  GraphBuilder b;
  auto x = b.input("x", f32({2, 6}));
  x = b.op("Reshape", {x, b.ints({3, 4})});
  x = b.op("Transpose", {x}, {Attribute::of_ints("perm", {1, 0})});
  x = b.op("Pad", {x, b.ints({0, 1, 0, 0})});
  x = b.op("Slice", {x, b.ints({1}), b.ints({INT32_MAX}), b.ints({1})});
  x = b.op("Mul", {x, b.constant(floats({1, 1, 1}, {1}))});
  x = b.op("Cast", {x}, {Attribute::of_int("to", 11)});
  b.output(x);
  const auto result = transformed(b, kName, {some({2, 6})});
  EXPECT_EQ(result.changes, 0u);
}

TEST(IdentityRemoval, TrainingDropoutAndUsedMasksStay) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  const auto training = b.ops("Dropout", {x, ir::kNone, b.input("t", type_of(ElementType::kBool, {}))}, 1);
  const auto masked = b.ops("Dropout", {x}, 2);
  b.output(training[0]);
  b.output(masked[0]);
  b.output(masked[1]);
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, {}).ok());
  EXPECT_EQ(model.graph.node_count(), 2u);
}

}  // namespace
}  // namespace tenon::testing
