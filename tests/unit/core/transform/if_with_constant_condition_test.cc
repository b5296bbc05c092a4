#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;

const std::string kName = "if_with_constant_condition";

ir::TensorPtr truth(bool value) {
  return tensor<uint8_t>(ElementType::kBool, {}, {value ? uint8_t{1} : uint8_t{0}});
}

/// then: Add(x, k) and x itself; else: Neg(x) and a constant.
ir::Node if_node(GraphBuilder& b, ir::ValueId x, ir::ValueId condition) {
  GraphBuilder yes, no;
  const auto yes_x = yes.graph().add_capture(x, "x", f32({2}));
  yes.output(yes.op("Add", {yes_x, yes.constant(some_floats({2}))}));
  yes.output(yes_x);
  const auto no_x = no.graph().add_capture(x, "x", f32({2}));
  no.output(no.op("Neg", {no_x}));
  no.output(no.op("Identity", {no.constant(floats({2}, {3, 4}))}));
  ir::Node node;
  node.op_type = "If";
  node.inputs = {condition};
  node.outputs = {b.graph().add_value("a"), b.graph().add_value("b")};
  node.attributes = {Attribute::of_graph("then_branch", yes.graph()),
                     Attribute::of_graph("else_branch", no.graph())};
  return node;
}

TEST(IfWithConstantCondition, TakesTheBranch) {
  for (const bool condition : {true, false}) {
    GraphBuilder b;
    const auto x = b.input("x", f32({2}));
    const ir::Node node = if_node(b, x, b.constant(truth(condition)));
    b.graph().add_node(node);
    b.output(b.op("Relu", {node.outputs[0]}));
    b.output(b.op("Exp", {node.outputs[1]}));
    const auto result = transformed(b, kName, {some({2})});
    EXPECT_EQ(result.count("If"), 0u);
    EXPECT_EQ(result.count(condition ? "Add" : "Neg"), 1u);
  }
}

TEST(IfWithConstantCondition, BranchOutputsThatAreOutputsOfTheModel) {
  for (const bool condition : {true, false}) {
    GraphBuilder b;
    const ir::Node node = if_node(b, b.input("x", f32({2})), b.constant(truth(condition)));
    b.graph().add_node(node);
    b.output(node.outputs[0]);
    b.output(node.outputs[1]);
    EXPECT_EQ(transformed(b, kName, {some({2})}).count("If"), 0u);
  }
}

TEST(IfWithConstantCondition, AConditionOfTheCallerStays) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  const ir::Node node = if_node(b, x, b.input("c", type_of(ElementType::kBool, {})));
  b.graph().add_node(node);
  b.output(node.outputs[0]);
  EXPECT_EQ(transformed(b, kName, {some({2}), Array{{}, {1}}}).changes, 0u);
}

}  // namespace
}  // namespace tenon::testing
