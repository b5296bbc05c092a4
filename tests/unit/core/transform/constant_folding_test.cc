#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;

const std::string kName = "constant_folding";

TEST(ConstantFolding, FoldsChainsOfConstants) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2, 3}));
  const auto scaled = b.op("Mul", {b.constant(some_floats({3})), b.constant(some_floats({1}))});
  b.output(b.op("Add", {x, b.op("Neg", {scaled})}));
  const auto result = transformed(b, kName, {some({2, 3})});
  EXPECT_EQ(result.nodes(), 1u);
  EXPECT_EQ(result.count("Add"), 1u);
}

TEST(ConstantFolding, ConstantNodesNeedNoEvaluator) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  const auto c = b.op("Constant", {}, {Attribute::of_floats("value_floats", {1, 2})});
  const auto i = b.op("Constant", {}, {Attribute::of_ints("value_ints", {0})});
  b.output(b.op("Unsqueeze", {b.op("Add", {x, c}), i}));
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  const transform::Options options = only(kName);
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, options).ok());
  EXPECT_EQ(model.graph.node_count(), 2u);
}

TEST(ConstantFolding, LeavesRandomAndQuantisedNodesAlone) {
  GraphBuilder b;
  const auto c = b.constant(some_floats({2}));
  const auto random = b.op("RandomNormalLike", {c});
  const auto weights = b.constant(tensor<int8_t>(ElementType::kInt8, {2}, {1, 2}));
  const auto scale = b.constant(floats({}, {0.5f}));
  const auto real = b.op("DequantizeLinear", {weights, scale});
  b.output(b.op("Add", {random, real}));
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  transform::Options options;
  options.evaluator = evaluate_constants;
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, options).ok());
  EXPECT_EQ(model.graph.node_count(), 3u);
}

TEST(ConstantFolding, RespectsTheLimitBeforeItRuns) {
  GraphBuilder b;
  const auto x = b.input("x", f32({1}));
  const auto huge = b.op("Expand", {b.constant(some_floats({1})), b.ints({1 << 20})});
  b.output(b.op("Add", {x, huge}));
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  transform::Options options;
  options.fold_bytes = 1 << 16;
  bool asked = false;
  options.evaluator = [&asked](const ir::Graph& graph) {
    asked = true;
    return evaluate_constants(graph);
  };
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, options).ok());
  EXPECT_FALSE(asked);
  EXPECT_EQ(model.graph.node_count(), 2u);
}

TEST(ConstantFolding, ChainsThatDoubleStopAtTheLimitOfAllTogether) {
  ir::Model model;
  auto make = [&model](int doublings) {
    GraphBuilder b;
    ir::ValueId value = b.constant(some_floats({256}));
    for (int i = 0; i < doublings; ++i)
      value = b.op("Concat", {value, value}, {Attribute::of_int("axis", 0)});
    b.output(b.op("Add", {b.input("x", f32({1})), value}));
    model.graph = b.done();
    model.opset_imports = b.imports();
  };
  make(20);
  transform::Options options;
  options.evaluator = evaluate_constants;
  options.fold_bytes = 1 << 14;
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, options).ok());
  EXPECT_EQ(model.graph.node_count(), 17u) << "1 KiB doubles to 16 KiB, what came before is let go";
  EXPECT_LE(options.folded->grown, 1 << 14);

  make(20);
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, transform::Options(options)).ok());
  EXPECT_EQ(model.graph.node_count(), 20u) << "copies of the options share what is used";

  make(4);
  options.folded = std::make_shared<transform::FoldBudget>();
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, options).ok());
  EXPECT_EQ(model.graph.node_count(), 1u);
}

TEST(ConstantFolding, ConstantsThatReplaceOthersAreFree) {
  ir::Model model;
  GraphBuilder b;
  ir::ValueId value = b.constant(some_floats({1024}));
  for (int i = 0; i < 50; ++i) value = b.op("Neg", {value});
  b.output(b.op("Add", {b.input("x", f32({1})), value}));
  model.graph = b.done();
  model.opset_imports = b.imports();
  transform::Options options;
  options.evaluator = evaluate_constants;
  options.fold_bytes = 8192;
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, options).ok());
  EXPECT_EQ(model.graph.node_count(), 1u);
  EXPECT_EQ(options.folded->grown, 0);
}

// As resamplers compute their filters: 4 KiB become 1.2 MB, which several nodes read before one value is left.
TEST(ConstantFolding, AFilterOfAFewNumbersIsComputedOnce) {
  GraphBuilder b;
  const auto shifted = b.op("Add", {b.constant(some_floats({640, 1})), b.constant(some_floats({455}))});
  const auto window = b.op("Mul", {shifted, b.op("Neg", {shifted})});
  const auto filter = b.op("Sub", {window, shifted});
  b.output(b.op("Add", {b.input("x", f32({1})), filter}));
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  transform::Options options;
  options.evaluator = evaluate_constants;
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, options).ok());
  EXPECT_EQ(model.graph.node_count(), 1u);
  EXPECT_EQ(options.folded->grown, (640 * 455 - 640 - 455) * 4) << "what lies in between is let go";
}

TEST(ConstantFolding, AnEvaluatorThatDeclinesChangesNothing) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  b.output(b.op("Add", {x, b.op("Neg", {b.constant(some_floats({2}))})}));
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  transform::Options options;
  options.evaluator = [](const ir::Graph&) -> Result<std::vector<ir::TensorPtr>> {
    return unsupported("no kernel");
  };
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, options).ok());
  EXPECT_EQ(model.graph.node_count(), 2u);
}

TEST(ConstantFolding, ReachesIntoBodies) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  const auto c = b.input("c", type_of(ElementType::kBool, {}));
  const auto k = b.constant(some_floats({2}));
  auto body = [&](const std::string& type) {
    GraphBuilder inner;
    const auto ix = inner.graph().add_capture(x, "x", f32({2}));
    const auto ik = inner.graph().add_capture(k, "k", f32({2}));
    inner.output(inner.op(type, {ix, inner.op("Neg", {ik})}));
    return inner.graph();
  };
  b.output(b.op(
      "If", {c},
      {Attribute::of_graph("then_branch", body("Add")), Attribute::of_graph("else_branch", body("Mul"))}));
  const auto result = transformed(b, kName, {some({2}), Array{{}, {1}}});
  const ir::Node& node = result.model.graph.node(0);
  EXPECT_EQ(node.attributes[0].graphs[0]->node_count(), 1u);
  EXPECT_EQ(node.attributes[1].graphs[0]->captures().size(), 1u);
}

TEST(ConstantFolding, OutputsOfTheModelAreNotMadeConstant) {
  GraphBuilder b;
  b.output(b.op("Neg", {b.constant(some_floats({2}))}));
  const auto result = transformed(b, kName, {});
  EXPECT_EQ(result.nodes(), 1u);
}

}  // namespace
}  // namespace tenon::testing
