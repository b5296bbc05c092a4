#include "core/ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cpu_time.h"

namespace tenon::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const Type kFloats = Type::tensor(ElementType::kFloat32, Shape::of({2}));

Node op(std::string type, std::vector<ValueId> inputs, std::vector<ValueId> outputs, std::string name = "") {
  Node node;
  node.name = std::move(name);
  node.op_type = std::move(type);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

void expect_sound(const Graph& graph) {
  Status status = verify(graph);
  EXPECT_TRUE(status.ok()) << status.to_string() << "\n" << to_text(graph);
}

/// x -> Relu -> y -> Neg -> z, with z the output.
struct Chain {
  Graph graph;
  ValueId x, y, z;
  NodeId relu, neg;
  Chain() {
    x = graph.add_value("x", kFloats);
    graph.add_input(x);
    y = graph.add_value("y", kFloats);
    z = graph.add_value("z", kFloats);
    relu = graph.add_node(op("Relu", {x}, {y}, "relu"));
    neg = graph.add_node(op("Neg", {y}, {z}, "neg"));
    graph.add_output(z);
  }
};

/// If(c){ then: Add(x, x); else: Identity(x) } with x captured.
struct Branches {
  Graph graph;
  ValueId x, c, y;
  NodeId branch;
  Branches() {
    x = graph.add_value("x", kFloats);
    c = graph.add_value("c", Type::tensor(ElementType::kBool, Shape::of({})));
    graph.add_input(x);
    graph.add_input(c);
    y = graph.add_value("y", kFloats);
    Node node = op("If", {c}, {y}, "if");
    node.attributes.push_back(Attribute::of_graph("then_branch", body("Add", 2)));
    node.attributes.push_back(Attribute::of_graph("else_branch", body("Identity", 1)));
    branch = graph.add_node(std::move(node));
    graph.add_output(y);
  }
  Graph body(const std::string& type, size_t arity) {
    Graph body;
    ValueId inner = body.add_capture(x, "x", kFloats);
    ValueId out = body.add_value("out", kFloats);
    body.add_node(op(type, std::vector<ValueId>(arity, inner), {out}));
    body.add_output(out);
    return body;
  }
  Graph& nested(size_t which) { return *graph.node(branch).attributes[which].graphs[0]; }
};

TEST(Graph, AddNodeKeepsUses) {
  Chain chain;
  EXPECT_THAT(chain.graph.value(chain.x).uses, ElementsAre(Use{chain.relu, 0}));
  EXPECT_EQ(chain.graph.value(chain.y).producer, chain.relu);
  EXPECT_EQ(chain.graph.value(chain.z).output_count, 1u);
  EXPECT_EQ(chain.graph.find_value("y"), chain.y);
  EXPECT_EQ(chain.graph.find_value("nobody"), kNone);
  expect_sound(chain.graph);
}

TEST(Graph, SetInputMovesAUse) {
  Chain chain;
  chain.graph.set_input(chain.neg, 0, chain.x);
  EXPECT_THAT(chain.graph.value(chain.y).uses, ElementsAre());
  EXPECT_THAT(chain.graph.value(chain.x).uses, UnorderedElementsAre(Use{chain.relu, 0}, Use{chain.neg, 0}));
  chain.graph.set_input(chain.neg, 2, chain.x);
  EXPECT_THAT(chain.graph.node(chain.neg).inputs, ElementsAre(chain.x, kNone, chain.x));
  chain.graph.set_input(chain.neg, 0, kNone);
  expect_sound(chain.graph);
}

TEST(Graph, ReplaceUsesSwapsNamesOfOutputs) {
  Chain chain;
  chain.graph.replace_uses(chain.z, chain.y);
  EXPECT_THAT(chain.graph.outputs(), ElementsAre(chain.y));
  EXPECT_EQ(chain.graph.value(chain.y).name, "z");
  EXPECT_EQ(chain.graph.value(chain.z).name, "y");
  EXPECT_EQ(chain.graph.find_value("z"), chain.y);
  chain.graph.remove_node(chain.neg);
  chain.graph.remove_value(chain.z);
  expect_sound(chain.graph);
  EXPECT_EQ(chain.graph.node_count(), 1u);
}

TEST(Graph, ReplaceUsesKeepsAnOutputThatCannotBeRenamed) {
  Chain chain;
  chain.graph.replace_uses(chain.z, chain.x);
  EXPECT_THAT(chain.graph.outputs(), ElementsAre(chain.z));
  EXPECT_EQ(chain.graph.value(chain.x).name, "x");
  chain.graph.add_output(chain.y);
  chain.graph.replace_uses(chain.z, chain.y);
  EXPECT_THAT(chain.graph.outputs(), ElementsAre(chain.z, chain.y));
  expect_sound(chain.graph);
}

TEST(Graph, ReplaceUsesMovesEveryPlaceOfAnOutput) {
  Chain chain;
  chain.graph.add_output(chain.z);
  chain.graph.replace_uses(chain.z, chain.y);
  EXPECT_THAT(chain.graph.outputs(), ElementsAre(chain.y, chain.y));
  EXPECT_EQ(chain.graph.value(chain.y).output_count, 2u);
  chain.graph.set_outputs({chain.z});
  EXPECT_EQ(chain.graph.value(chain.y).output_count, 0u);
  expect_sound(chain.graph);
}

TEST(Graph, SetConstantFreesTheProducer) {
  Chain chain;
  chain.graph.set_constant(chain.y, Tensor::of_ints({1}));
  EXPECT_THAT(chain.graph.node(chain.relu).outputs, ElementsAre(kNone));
  EXPECT_EQ(chain.graph.value(chain.y).type.to_string(), "int64[1]");
  chain.graph.remove_node(chain.relu);
  expect_sound(chain.graph);
}

TEST(Graph, CapturesAreUses) {
  Branches b;
  EXPECT_THAT(b.graph.value(b.x).uses, ElementsAre(Use{b.branch, kNone}));
  expect_sound(b.graph);
  b.graph.remove_node(b.branch);
  EXPECT_TRUE(b.graph.value(b.x).uses.empty());
}

TEST(Graph, ReplaceUsesReachesCaptures) {
  Branches b;
  ValueId other = b.graph.add_value("other", kFloats);
  b.graph.add_node(op("Neg", {b.c}, {other}));
  b.graph.replace_uses(b.x, other);
  EXPECT_THAT(b.graph.value(other).uses, ElementsAre(Use{b.branch, kNone}));
  EXPECT_TRUE(b.graph.value(b.x).uses.empty());
  for (size_t which : {0u, 1u}) EXPECT_EQ(b.nested(which).captures()[0].outer, other);
  expect_sound(b.graph);
}

TEST(Graph, RefreshCapturesAfterABodyChanged) {
  Branches b;
  for (size_t which : {0u, 1u}) {
    Graph& body = b.nested(which);
    ValueId inner = body.captures()[0].inner;
    ValueId constant = body.add_constant("k", Tensor::of_ints({1}));
    body.replace_uses(inner, constant);
    body.remove_unused_captures();
    EXPECT_TRUE(body.captures().empty());
    expect_sound(body);
  }
  b.graph.refresh_captures(b.branch);
  EXPECT_TRUE(b.graph.value(b.x).uses.empty());
  expect_sound(b.graph);
}

TEST(Graph, CopiesAreDeep) {
  Branches b;
  std::string before = to_text(b.graph);
  Graph copy = b.graph;
  EXPECT_EQ(to_text(copy), before);
  Graph& body = *copy.node(b.branch).attributes[0].graphs[0];
  body.rename_value(body.outputs()[0], "changed");
  copy.mutable_node(b.branch).op_type = "Changed";
  EXPECT_NE(to_text(copy), before);
  EXPECT_EQ(to_text(b.graph), before);
  expect_sound(copy);
}

TEST(Graph, OrderIsStableByIdAndProducersFirst) {
  Graph graph;
  ValueId x = graph.add_value("x", kFloats), y = graph.add_value("y"), z = graph.add_value("z"),
          w = graph.add_value("w");
  graph.add_input(x);
  NodeId late = graph.add_node(op("B", {y}, {z}));
  NodeId early = graph.add_node(op("A", {x}, {y}));
  NodeId free = graph.add_node(op("C", {x}, {w}));
  EXPECT_THAT(graph.topological_order().value(), ElementsAre(early, late, free));
  graph.add_output(z);
  graph.add_output(w);
  expect_sound(graph);
}

TEST(Graph, OrderCountsCaptures) {
  Graph graph;
  ValueId x = graph.add_value("x", kFloats), y = graph.add_value("y", kFloats), z = graph.add_value("z");
  graph.add_input(x);
  Graph body;
  body.add_output(body.add_capture(y, "y", kFloats));
  Node node = op("If", {x}, {z});
  node.attributes.push_back(Attribute::of_graph("then_branch", std::move(body)));
  NodeId branch = graph.add_node(std::move(node));
  NodeId producer = graph.add_node(op("Relu", {x}, {y}));
  EXPECT_THAT(graph.topological_order().value(), ElementsAre(producer, branch));
}

TEST(Graph, CycleIsNamed) {
  Graph graph;
  ValueId a = graph.add_value("a"), b = graph.add_value("b"), c = graph.add_value("c");
  graph.add_node(op("P", {b}, {a}, "on_cycle_1"));
  graph.add_node(op("Q", {a}, {b}, "on_cycle_2"));
  graph.add_node(op("R", {b}, {c}, "after"));
  auto order = graph.topological_order();
  ASSERT_FALSE(order.ok());
  EXPECT_EQ(order.error().kind(), ErrorKind::kInvalidModel);
  EXPECT_THAT(std::string(order.error().where()), HasSubstr("on_cycle"));
}

TEST(Graph, VerifyNamesWhatIsWrong) {
  Chain chain;
  chain.graph.remove_node(chain.relu);
  Status status = verify(chain.graph);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.to_string(), HasSubstr("value 'y' is used, but nothing produces it"));
}

TEST(Graph, NamesAreUnique) {
  Graph graph;
  ValueId first = graph.add_value("v"), second = graph.add_value("v"), third = graph.add_value("v");
  EXPECT_EQ(graph.value(first).name, "v");
  EXPECT_EQ(graph.value(second).name, "v_1");
  EXPECT_EQ(graph.value(third).name, "v_2");
  EXPECT_FALSE(graph.value(graph.add_value("")).name.empty());
  NodeId unnamed = graph.add_node(op("Relu", {}, {}));
  EXPECT_EQ(graph.node(unnamed).name, "Relu");
  graph.rename_value(third, "v");
  EXPECT_EQ(graph.value(third).name, "v_2");
}

TEST(Graph, LabelsQuoteStrangeNames) {
  Node node = op("Gelu", {}, {}, "a\n\x1b[31m'");
  node.domain = "com.microsoft";
  EXPECT_EQ(node.label(), "node 'a\\x0a\\x1b[31m\\'' (com.microsoft.Gelu)");
  node.name = std::string(100'000, 'n');
  EXPECT_LT(node.label().size(), 300u);
}

/// One value with `count` users, as many equal names, and all of it taken apart again in the worst orders.
double seconds_of_users(uint32_t count) {
  const double begin = test::cpu_seconds();
  Graph graph;
  ValueId x = graph.add_value("x", kFloats), other = graph.add_value("other", kFloats);
  graph.add_input(x);
  graph.add_input(other);
  std::vector<ValueId> results;
  for (uint32_t i = 0; i < count; ++i) {
    results.push_back(graph.add_value("r"));
    graph.add_node(op("Add", {x, i == 0 ? x : results[i - 1]}, {results[i]}, "add"));
    graph.add_output(results[i]);
  }
  expect_sound(graph);
  graph.replace_uses(x, other);
  for (NodeId id = 0; id < count; ++id) {
    ValueId spare = graph.add_value("spare");
    graph.replace_uses(results[id], spare);
    graph.remove_node(id);
    graph.set_constant(spare, Tensor::scalar_int(0));
  }
  expect_sound(graph);
  EXPECT_EQ(graph.node_count(), 0u);
  EXPECT_TRUE(graph.value(other).uses.empty());
  return test::cpu_seconds() - begin;
}

TEST(Graph, LargeGraphsTakeLinearTime) { test::expect_nearly_linear(40'000, seconds_of_users); }

TEST(ToText, ListsEverything) {
  Branches b;
  std::string text = to_text(b.graph);
  for (const char* part :
       {"input x: float32[2]", "input c: bool[]", "y: float32[2] = If(c)", "else_branch=<1 graph>",
        "capture x: float32[2]", "= Add(x, x)", "output y: float32[2]", "# 'if'"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace tenon::ir
