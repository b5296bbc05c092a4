#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ir/graph.h"

namespace tenon::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Type kFloats = Type::tensor(ElementType::kFloat32, Shape::of({2}));

Node op(std::string type, std::vector<ValueId> inputs, std::vector<ValueId> outputs, std::string name = "") {
  Node node;
  node.name = std::move(name);
  node.op_type = std::move(type);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

Attribute reference(std::string name, std::string to, AttributeType type) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = type;
  attribute.reference = std::move(to);
  return attribute;
}

/// f(a, b; alpha, beta = 2, gamma) = (Scale(a + b) with alpha and beta, b)
Function make_function() {
  Function f;
  f.domain = "local";
  f.name = "f";
  f.attributes = {"alpha", "gamma"};
  f.attribute_defaults = {Attribute::of_int("beta", 2)};
  Graph& body = f.body;
  ValueId a = body.add_value("a"), b = body.add_value("b"), sum = body.add_value("sum"),
          r = body.add_value("r");
  body.add_input(a);
  body.add_input(b);
  body.add_node(op("Add", {a, b}, {sum}, "add"));
  Node scale = op("Scale", {sum}, {r}, "scale");
  scale.attributes = {reference("alpha", "alpha", AttributeType::kFloat),
                      reference("b", "beta", AttributeType::kInt),
                      reference("c", "gamma", AttributeType::kInt)};
  body.add_node(std::move(scale));
  body.add_output(r);
  body.add_output(b);
  return f;
}

struct Caller {
  Graph graph;
  ValueId x, y, z;
  NodeId call;
  explicit Caller(size_t inputs = 2) {
    x = graph.add_value("x", kFloats);
    graph.add_input(x);
    y = graph.add_value("y", kFloats);
    z = graph.add_value("z", kFloats);
    Node node = op("f", std::vector<ValueId>(inputs, x), {y, z}, "call");
    node.domain = "local";
    node.attributes = {Attribute::of_float("alpha", 0.5f)};
    call = graph.add_node(std::move(node));
    graph.add_output(y);
  }
  const Node* find(const std::string& type) const {
    for (NodeId id = 0; id < graph.node_limit(); ++id) {
      if (graph.has_node(id) && graph.node(id).op_type == type) return &graph.node(id);
    }
    return nullptr;
  }
};

TEST(InlineCall, PutsTheBodyInPlace) {
  Caller caller;
  Status status = inline_call(caller.graph, caller.call, make_function());
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(verify(caller.graph).ok()) << verify(caller.graph).to_string();
  EXPECT_EQ(caller.find("f"), nullptr);
  const Node* scale = caller.find("Scale");
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(scale->name, "call/scale");
  EXPECT_THAT(scale->outputs, ElementsAre(caller.y));
  EXPECT_EQ(scale->find("alpha")->f, 0.5f);
  EXPECT_EQ(scale->find("b")->i, 2);
  EXPECT_EQ(scale->find("c"), nullptr) << "an attribute that nobody gave stays the operator's default";
  EXPECT_EQ(caller.graph.value(caller.find("Add")->outputs[0]).name, "call/sum");
}

TEST(InlineCall, MissingInputsAreMissingInTheBody) {
  Caller caller(1);
  ASSERT_TRUE(inline_call(caller.graph, caller.call, make_function()).ok());
  EXPECT_THAT(caller.find("Add")->inputs, ElementsAre(caller.x, kNone));
}

TEST(InlineCall, AnInputThatIsAnOutputBecomesAnIdentityWhereItsNameIsNeeded) {
  Caller caller;
  ValueId w = caller.graph.add_value("w", kFloats);
  caller.graph.add_node(op("Neg", {caller.z}, {w}));
  caller.graph.add_output(caller.z);
  ASSERT_TRUE(inline_call(caller.graph, caller.call, make_function()).ok());
  EXPECT_TRUE(verify(caller.graph).ok());
  EXPECT_THAT(caller.find("Neg")->inputs, ElementsAre(caller.x));
  ASSERT_NE(caller.find("Identity"), nullptr);
  EXPECT_THAT(caller.find("Identity")->outputs, ElementsAre(caller.z));
}

TEST(InlineCall, RefusesACallThatDoesNotFit) {
  Caller many(3);
  Status status = inline_call(many.graph, many.call, make_function());
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidModel);
  EXPECT_THAT(status.to_string(), HasSubstr("node 'call' (local.f)"));

  Caller wrong_type;
  wrong_type.graph.mutable_node(wrong_type.call).attributes = {Attribute::of_int("alpha", 1)};
  EXPECT_THAT(inline_call(wrong_type.graph, wrong_type.call, make_function()).to_string(),
              HasSubstr("attribute 'alpha' is int and function 'f' uses it as float"));

  Caller missing(1);
  missing.graph.add_output(missing.z);
  EXPECT_THAT(inline_call(missing.graph, missing.call, make_function()).to_string(),
              HasSubstr("leaves out input 'b'"));
}

TEST(InlineCall, RemapsCapturesAndSubstitutesInNestedGraphs) {
  Function f;
  f.name = "g";
  f.attributes = {"k"};
  ValueId c = f.body.add_value("c"), a = f.body.add_value("a"), r = f.body.add_value("r");
  f.body.add_input(c);
  f.body.add_input(a);
  Graph branch;
  ValueId inner = branch.add_capture(a, "a", {}), out = branch.add_value("out");
  Node leaf = op("Leaf", {inner}, {out});
  leaf.attributes = {reference("k", "k", AttributeType::kInt)};
  branch.add_node(std::move(leaf));
  branch.add_output(out);
  Node node = op("If", {c}, {r}, "if");
  node.attributes = {Attribute::of_graph("then_branch", std::move(branch))};
  f.body.add_node(std::move(node));
  f.body.add_output(r);

  Graph graph;
  graph.add_value("padding");
  ValueId cond = graph.add_value("cond"), x = graph.add_value("x", kFloats), y = graph.add_value("y");
  graph.add_input(cond);
  graph.add_input(x);
  Node call = op("g", {cond, x}, {y}, "call");
  call.attributes = {Attribute::of_int("k", 9)};
  NodeId id = graph.add_node(std::move(call));
  graph.add_output(y);
  Graph without_x = graph;

  ASSERT_TRUE(inline_call(graph, id, f).ok());
  ASSERT_TRUE(verify(graph).ok()) << verify(graph).to_string();
  const Node& inlined = graph.node(graph.value(y).producer);
  const Graph& nested = *inlined.attributes[0].graphs[0];
  EXPECT_EQ(nested.captures()[0].outer, x);
  EXPECT_EQ(nested.node(0).find("k")->i, 9);

  without_x.set_input(id, 1, kNone);
  ASSERT_TRUE(inline_call(without_x, id, f).ok());
  ASSERT_TRUE(verify(without_x).ok()) << verify(without_x).to_string();
  const Graph& bare = *without_x.node(without_x.value(y).producer).attributes[0].graphs[0];
  EXPECT_TRUE(bare.captures().empty());
  EXPECT_THAT(bare.node(0).inputs, ElementsAre(kNone));
}

}  // namespace
}  // namespace tenon::ir
