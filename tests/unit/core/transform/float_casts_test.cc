#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::ElementType;
using transform::FloatCast;

const FloatCast kWiden = {ElementType::kFloat16, ElementType::kFloat32};

ir::Type f16(const std::vector<ir::Dim>& dims) { return type_of(ElementType::kFloat16, dims); }

std::vector<ir::NodeId> nodes_of(const ir::Graph& graph, const std::vector<std::string>& ops) {
  std::vector<ir::NodeId> out;
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    if (!graph.has_node(id)) continue;
    if (std::find(ops.begin(), ops.end(), graph.node(id).op_type) != ops.end()) out.push_back(id);
  }
  return out;
}

size_t count(const ir::Graph& graph, const std::string& op) { return nodes_of(graph, {op}).size(); }

/// Casts the nodes of these operators; checks structure, the types of the border, and the meaning.
std::vector<ir::NodeId> cast(GraphBuilder& b, FloatCast how, const std::vector<std::string>& ops,
                             const std::vector<Array>& inputs) {
  ir::Graph& graph = b.done();
  const ir::Graph before = graph;
  transform::Converted converted;
  const auto changed = transform::cast_nodes(graph, nodes_of(graph, ops), how, b.imports(), &converted);
  EXPECT_TRUE(changed.ok()) << changed.status().to_string();
  const Status sound = ir::verify(graph);
  EXPECT_TRUE(sound.ok()) << sound.to_string() << ir::to_text(graph);
  const Status typed = ops::infer_graph(graph, {});
  EXPECT_TRUE(typed.ok()) << typed.to_string() << ir::to_text(graph);
  for (size_t i = 0; i < before.outputs().size(); ++i) {
    EXPECT_EQ(graph.value(graph.outputs()[i]).name, before.value(before.outputs()[i]).name);
    EXPECT_EQ(graph.value(graph.outputs()[i]).type.to_string(),
              before.value(before.outputs()[i]).type.to_string());
  }
  const auto wanted = evaluate(before, inputs), got = evaluate(graph, inputs);
  EXPECT_TRUE(wanted.ok() && got.ok()) << ir::to_text(graph);
  if (wanted.ok() && got.ok()) expect_close(*got, *wanted);
  return changed.ok() ? *changed : std::vector<ir::NodeId>();
}

TEST(FloatCasts, AGroupIsRoundedOnlyAtItsBorder) {
  GraphBuilder b;
  const auto x = b.input("x", f16({3}));
  const auto sum = b.op("Add", {x, b.constant(tensor_of(some({3}), ElementType::kFloat16))});
  const auto product = b.op("Mul", {sum, x});
  b.output(b.op("Neg", {product}));
  EXPECT_EQ(cast(b, kWiden, {"Add", "Mul"}, {some({3}, 2)}).size(), 2u);
  const ir::Graph& graph = b.graph();
  EXPECT_EQ(count(graph, "Cast"), 2u) << "one for x, one for what Neg reads\n" << ir::to_text(graph);
  EXPECT_EQ(b.type(sum), f32({3}).to_string());
  for (ir::ValueId v = 0; v < graph.value_limit(); ++v) {
    if (!graph.has_value(v) || !graph.value(v).is_constant()) continue;
    EXPECT_EQ(graph.value(v).type.element, ElementType::kFloat32) << "the constant is converted, not kept";
  }
}

TEST(FloatCasts, AValueThatIsAlsoAnOutputKeepsItsTypeThere) {
  GraphBuilder b;
  const auto x = b.input("x", f16({2, 2}));
  const auto sum = b.op("Add", {x, x});
  b.output(sum);
  b.output(b.op("Mul", {sum, sum}));
  EXPECT_EQ(cast(b, kWiden, {"Add", "Mul"}, {some({2, 2})}).size(), 2u);
  EXPECT_EQ(count(b.graph(), "Cast"), 3u) << ir::to_text(b.graph());
}

TEST(FloatCasts, WhatIsNotOfTheTypeStays) {
  GraphBuilder b;
  const auto x = b.input("x", f16({2}));
  const auto y = b.input("y", f32({2}));
  b.output(b.op("Add", {y, y}));
  b.output(b.op("Reshape", {x, b.ints({1, 2})}));
  // Casts are there to change types; theirs stay.
  b.output(b.op("Cast", {y}, {Attribute::of_int("to", static_cast<int64_t>(ElementType::kFloat16))}));
  b.output(b.op("Cast", {x}, {Attribute::of_int("to", static_cast<int64_t>(ElementType::kFloat32))}));
  const auto changed = cast(b, kWiden, {"Add", "Reshape", "Cast"}, {some({2}), some({2})});
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(b.graph().node(changed[0]).op_type, "Reshape");
}

TEST(FloatCasts, TheOtherWay) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  // Exact in both types.
  b.output(b.op("Mul", {b.op("Add", {x, b.constant(floats({2}, {0.5F, 2}))}), x}));
  EXPECT_EQ(
      cast(b, {ElementType::kFloat32, ElementType::kFloat16}, {"Add", "Mul"}, {Array{{2}, {1, -4}}}).size(),
      2u);
  EXPECT_EQ(count(b.graph(), "Cast"), 2u);
}

}  // namespace
}  // namespace tenon::testing
