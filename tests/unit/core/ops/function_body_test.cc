#include <gmock/gmock.h>

#include "tests/unit/core/build_graph.h"

namespace tenon::ops {
namespace {

using ir::Attribute;
using tenon::testing::f32;
using tenon::testing::GraphBuilder;
using tenon::testing::i64;

/// Inlines node 0 and every function in it; types must come out as they were.
void expect_inlines(GraphBuilder& b) {
  ir::Graph& graph = b.done();
  std::vector<std::string> types;
  for (const ir::ValueId id : graph.outputs()) types.push_back(graph.value(id).type.to_string());
  ASSERT_TRUE(has_function_body(graph.node(0)));
  const Result<ir::Function> body = function_body(graph, 0, b.imports());
  ASSERT_TRUE(body.ok()) << body.error().to_string();
  const Status inlined = ir::inline_call(graph, 0, *body);
  ASSERT_TRUE(inlined.ok()) << inlined.to_string();
  const Status sound = ir::verify(graph);
  EXPECT_TRUE(sound.ok()) << sound.to_string() << ir::to_text(graph);
  EXPECT_GT(graph.node_count(), 0u);
  const Status inferred = infer_graph(graph, {});
  EXPECT_TRUE(inferred.ok()) << inferred.to_string() << ir::to_text(graph);
  for (size_t i = 0; i < types.size(); ++i) {
    EXPECT_EQ(graph.value(graph.outputs()[i]).type.to_string(), types[i]) << ir::to_text(graph);
  }
}

TEST(FunctionBody, DefaultsOfTheSchemaReachTheBody) {
  GraphBuilder b(22);
  b.output(b.op("Elu", {b.input("x", f32({2, 3}))}));
  expect_inlines(b);
}

/// ONNX's body squeezes every axis of length 1, where it means one.
TEST(FunctionBody, AffineGridOfOneImage) {
  GraphBuilder b(20);
  const auto theta = b.constant(tenon::testing::floats({1, 2, 3}, {1, 0, 0, 0, 1, 0}));
  b.output(b.op("AffineGrid", {theta, b.ints({1, 1, 2, 3})}));
  ir::Graph& graph = b.done();
  const Result<ir::Function> body = function_body(graph, 0, b.imports());
  ASSERT_TRUE(body.ok()) << body.error().to_string();
  ASSERT_TRUE(ir::inline_call(graph, 0, *body).ok());
  const Status inferred = infer_graph(graph, {});
  EXPECT_TRUE(inferred.ok()) << inferred.to_string();
}

/// y = a @ b, of constants.
ir::Graph product_of(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  ir::Node product;
  product.name = "product";
  product.op_type = "MatMul";
  product.since_version = 13;
  ir::Graph graph;
  const auto add = [&](const std::vector<int64_t>& dims) {
    return graph.add_constant(
        "c", tenon::testing::floats(dims, std::vector<float>(static_cast<size_t>(dims[0] * dims[1]))));
  };
  product.inputs = {add(a), add(b)};
  product.outputs = {graph.add_value("y")};
  const ir::ValueId y = product.outputs[0];
  graph.add_node(std::move(product));
  graph.add_output(y);
  return graph;
}

TEST(InferExpanded, OneBranchMayContradictItself) {
  for (const bool both : {false, true}) {
    GraphBuilder b;
    const auto y =
        b.op("If", {b.input("go", tenon::testing::type_of(ir::ElementType::kBool, {}))},
             {Attribute::of_graph("then_branch", product_of({2, 3}, {3, 4})),
              Attribute::of_graph("else_branch", product_of({2, 3}, both ? std::vector<int64_t>{3, 4}
                                                                         : std::vector<int64_t>{2, 4}))});
    b.output(y);
    ir::Graph& graph = b.graph();
    ASSERT_TRUE(resolve(graph, b.imports(), {}).ok());
    EXPECT_EQ(infer_graph(graph, {}).ok(), both);
    const Status inferred = infer_expanded(graph, {});
    EXPECT_TRUE(inferred.ok()) << inferred.to_string();
    EXPECT_EQ(graph.value(y).type.to_string(), "float32[2,4]");
  }
}

TEST(FunctionBody, OfAnOlderOpsetThanTheBody) {
  GraphBuilder b(10);
  b.output(b.op("Softplus", {b.input("x", f32({2, 3}))}));
  expect_inlines(b);
}

TEST(FunctionBody, DependsOnTheNode) {
  GraphBuilder with(20), without(20);
  with.output(with.op("Gelu", {with.input("x", f32({2, 3}))}, {Attribute::of_string("approximate", "tanh")}));
  expect_inlines(with);
  const auto x = without.input("x", f32({2, 4, 6}));
  const auto scale = without.input("s", f32({6}));
  without.output(without.op("LayerNormalization", {x, scale}));
  expect_inlines(without);
}

TEST(FunctionBody, OptionalInputsAndLaterVersions) {
  GraphBuilder clip(13);
  const auto x = clip.input("x", f32({4}));
  clip.output(clip.op("Clip", {x, ir::kNone, clip.input("max", f32({}))}));
  expect_inlines(clip);
  GraphBuilder softmax(18);
  softmax.output(softmax.op("Softmax", {softmax.input("x", f32({2, 3}))}, {Attribute::of_int("axis", 1)}));
  expect_inlines(softmax);
}

TEST(FunctionBody, SeveralOutputs) {
  GraphBuilder b(13);
  for (const auto out : b.ops("DynamicQuantizeLinear", {b.input("x", f32({2, 3}))}, 3)) b.output(out);
  expect_inlines(b);
}

TEST(FunctionBody, NestedGraphs) {
  GraphBuilder b(20);
  const auto theta = b.input("theta", f32({1, 2, 3}));
  b.output(b.op("AffineGrid", {theta, b.input("size", i64({4}))}));
  ir::Graph& graph = b.done();
  const Result<ir::Function> body = function_body(graph, 0, b.imports());
  ASSERT_TRUE(body.ok()) << body.error().to_string();
  EXPECT_TRUE(ir::verify(body->body).ok()) << ir::verify(body->body).to_string();
}

/// Scores or probabilities through one operator.
ir::Graph modifier(const std::string& type) {
  GraphBuilder b;
  b.output(b.op(type, {b.input("x", f32({1, 2, 3, 5}))}));
  return b.done();
}

TEST(FunctionBody, GraphsOfTheNodeBecomePartOfTheBody) {
  GraphBuilder b(24);
  const auto q = b.input("q", f32({1, 2, 3, 4})), k = b.input("k", f32({1, 2, 5, 4}));
  b.output(b.op("ai.onnx.preview:FlexAttention", {q, k, b.input("v", f32({1, 2, 5, 6}))},
                {Attribute::of_graph("score_mod", modifier("Tanh")),
                 Attribute::of_graph("prob_mod", modifier("Neg"))}));
  expect_inlines(b);
  std::vector<std::string> order;
  const Result<std::vector<ir::NodeId>> sorted = b.graph().topological_order();
  ASSERT_TRUE(sorted.ok());
  for (const ir::NodeId id : *sorted) {
    const std::string& type = b.graph().node(id).op_type;
    if (type == "Tanh" || type == "Softmax" || type == "Neg") order.push_back(type);
  }
  EXPECT_THAT(order, ::testing::ElementsAre("Tanh", "Softmax", "Neg"));
}

TEST(FunctionBody, GraphsThatUseValuesAroundTheNodeDoNot) {
  GraphBuilder b(24), inner;
  const auto q = b.input("q", f32({1, 2, 3, 4}));
  const auto captured = inner.graph().add_capture(q, "outer", f32({1, 2, 3, 4}));
  inner.output(inner.op("Add", {inner.input("x", f32({1, 2, 3, 3})), inner.op("ReduceSum", {captured})}));
  inner.graph().set_type(inner.graph().outputs()[0], f32({1, 2, 3, 3}));
  b.output(
      b.op("ai.onnx.preview:FlexAttention", {q, q, q}, {Attribute::of_graph("score_mod", inner.graph())}));
  EXPECT_FALSE(has_function_body(b.done().node(0)));
}

TEST(FunctionBody, ReferencesWithoutAType) {
  GraphBuilder b(22);
  b.output(b.op("Bernoulli", {b.input("x", f32({2, 3}))}, {Attribute::of_float("seed", 3)}));
  expect_inlines(b);
}

TEST(FunctionBody, OtherOperatorsHaveNone) {
  GraphBuilder b;
  b.output(b.op("Add", {b.input("x", f32({2})), b.input("y", f32({2}))}));
  ir::Graph& graph = b.done();
  EXPECT_FALSE(has_function_body(graph.node(0)));
  EXPECT_EQ(function_body(graph, 0, b.imports()).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tenon::ops
