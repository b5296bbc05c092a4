#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;

const std::string kName = "common_subexpressions";

TEST(CommonSubexpressions, MergesChainsAndConstants) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  const auto first = b.op("Exp", {b.op("Add", {x, b.constant(floats({2}, {1, 2}))})});
  const auto second = b.op("Exp", {b.op("Add", {x, b.constant(floats({2}, {1, 2}))})});
  b.output(b.op("Mul", {first, second}));
  const auto result = transformed(b, kName, {some({2})});
  EXPECT_EQ(result.nodes(), 3u);
}

TEST(CommonSubexpressions, DifferentAttributesOrConstantsStay) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2, 2}));
  const auto first = b.op("Softmax", {x}, {Attribute::of_int("axis", 0)});
  const auto second = b.op("Softmax", {x}, {Attribute::of_int("axis", 1)});
  const auto zero = b.constant(floats({1}, {0.0f})), minus = b.constant(floats({1}, {-0.0f}));
  b.output(b.op("Mul", {b.op("Div", {first, zero}), b.op("Add", {second, minus})}));
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  const transform::Options options = only(kName);
  const auto report = transform::run_pipeline(model.graph, model, options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->changes(kName), 0u);
}

TEST(CommonSubexpressions, RandomNodesStay) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  b.output(b.op("Sub", {b.op("RandomNormalLike", {x}), b.op("RandomNormalLike", {x})}));
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  const auto report = transform::run_pipeline(model.graph, model, {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(model.graph.node_count(), 3u);
}

TEST(CommonSubexpressions, TwoOutputsOfTheModelStayTwo) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  b.output(b.op("Exp", {x}));
  b.output(b.op("Exp", {x}));
  const auto result = transformed(b, kName, {some({2})});
  EXPECT_EQ(result.nodes(), 2u);
}

TEST(CommonSubexpressions, AnOutputOfTheModelTakesTheOther) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  const auto first = b.op("Exp", {x});
  b.output(b.op("Exp", {x}));
  b.output(b.op("Neg", {first}));
  const auto result = transformed(b, kName, {some({2})});
  EXPECT_EQ(result.nodes(), 2u);
}

}  // namespace
}  // namespace tenon::testing
