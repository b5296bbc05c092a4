// Raised nodes become again what they were.
#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

ir::Model raised(GraphBuilder& b, const transform::Options& options = {}) {
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  const auto report = transform::run_pipeline(model.graph, model, options);
  EXPECT_TRUE(report.ok()) << report.status().to_string();
  return model;
}

GraphBuilder normalised(int64_t opset) {
  GraphBuilder b(opset);
  const auto x = b.input("x", f32({2, 6}));
  const auto mean = b.op("ReduceMean", {x, b.ints({-1})});
  const auto d = b.op("Sub", {x, mean});
  const auto variance = b.op("ReduceMean", {b.op("Mul", {d, d}), b.ints({-1})});
  const auto root = b.op("Sqrt", {b.op("Add", {variance, b.constant(floats({}, {1e-5f}))})});
  const auto y = b.op("Mul", {b.op("Div", {d, root}), b.constant(some_floats({1, 6}))});
  b.output(b.op("Mul", {y, b.op("Sigmoid", {y})}));
  return b;
}

TEST(PutBack, GivesTheNodesBackUnderTheirNames) {
  GraphBuilder b = normalised(18);
  const ir::Graph before = b.done();
  ir::Model model = raised(b);
  EXPECT_EQ(model.graph.node_count(), 2u) << ir::to_text(model.graph);
  EXPECT_EQ(transform::put_back_for_file(model.graph, 0), 2u);
  ASSERT_TRUE(ir::verify(model.graph).ok());
  ASSERT_EQ(model.graph.node_count(), before.node_count());
  std::map<std::string, std::string> then, now;
  for (ir::NodeId id = 0; id < before.node_limit(); ++id)
    then[before.node(id).name] = before.node(id).op_type;
  for (ir::NodeId id = 0; id < model.graph.node_limit(); ++id) {
    if (model.graph.has_node(id)) now[model.graph.node(id).name] = model.graph.node(id).op_type;
  }
  EXPECT_EQ(now, then);
  const auto wanted = evaluate(before, {some({2, 6})}), got = evaluate(model.graph, {some({2, 6})});
  ASSERT_TRUE(wanted.ok() && got.ok()) << got.status().to_string();
  expect_close(*got, *wanted, 0);
}

TEST(PutBack, OnlyOperatorsThatTheFileDoesNotHave) {
  GraphBuilder b = normalised(18);
  ir::Model model = raised(b);
  EXPECT_EQ(transform::put_back_for_file(model.graph, 18), 1u);  // LayerNormalization-17 stays, Swish-24 goes
  EXPECT_EQ(model.graph.node_count(), 3u) << ir::to_text(model.graph);
  GraphBuilder newest = normalised(24);
  ir::Model kept = raised(newest);
  EXPECT_EQ(transform::put_back_for_file(kept.graph, 24), 0u);
}

TEST(PutBack, NothingIsRaisedWhereRaisingIsOff) {
  GraphBuilder b = normalised(18);
  transform::Options options;
  options.raise = false;
  EXPECT_EQ(raised(b, options).graph.node_count(), 10u);
}

TEST(PutBack, ANodeThatWasCastKeepsItsOperator) {
  GraphBuilder b;
  const auto x = b.input("x", type_of(ir::ElementType::kFloat16, {ir::Dim(3)}));
  b.output(b.op("Mul", {x, b.op("Sigmoid", {x})}));
  ir::Model model = raised(b);
  ASSERT_EQ(model.graph.node_count(), 1u);
  ir::NodeId id = 0;
  while (!model.graph.has_node(id)) ++id;
  transform::Converted converted;
  const auto cast = transform::cast_nodes(
      model.graph, {id}, {ir::ElementType::kFloat16, ir::ElementType::kFloat32}, {{"", 24}}, &converted);
  ASSERT_TRUE(cast.ok());
  ASSERT_EQ(cast->size(), 1u);
  EXPECT_EQ(model.graph.node(id).parts, nullptr);
}

}  // namespace
}  // namespace tenon::testing
