#include "host/exec/knowledge.h"

#include <gmock/gmock.h>

#include "core/ops/ops.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::runtime {
namespace {

using test::GraphMaker;
using testing::ElementsAre;

const std::map<std::string, int64_t> kOpsets = {{"", 21}};

std::vector<ir::NodeId> all_nodes(const ir::Graph& graph) { return *graph.topological_order(); }

TEST(Knowledge, InfersFromTheShapesOfThisRun) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 4}));
  const auto w = m.constant("w", {4, 2}, std::vector<float>(8));
  const auto y = m.node("MatMul", {x, w});
  const auto z = m.node("Transpose", {y});
  m.output(z, "z");
  ASSERT_TRUE(ops::resolve(m.graph, kOpsets, {}).ok());
  Knowledge knowledge(m.graph);
  EXPECT_FALSE(knowledge.shape_known(x));
  EXPECT_TRUE(knowledge.shape_known(w));
  knowledge.set_type(x, GraphMaker::f32({5, 4}));
  ASSERT_TRUE(knowledge.infer(all_nodes(m.graph)).ok());
  EXPECT_THAT(knowledge.type(z).shape.to_ints(), ElementsAre(2, 5));
}

TEST(Knowledge, UsesKnownValues) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({6}));
  const auto shape = m.input("shape", GraphMaker::i64({2}));
  const auto y = m.node("Reshape", {x, shape});
  m.output(y, "y");
  ASSERT_TRUE(ops::resolve(m.graph, kOpsets, {}).ok());
  Knowledge knowledge(m.graph);
  ASSERT_TRUE(knowledge.infer(all_nodes(m.graph)).ok());
  EXPECT_FALSE(knowledge.shape_known(y));
  knowledge.set_value(shape, ir::Tensor::of_ints({3, -1}));
  ASSERT_TRUE(knowledge.infer(all_nodes(m.graph)).ok());
  EXPECT_THAT(knowledge.type(y).shape.to_ints(), ElementsAre(3, 2));
}

TEST(Knowledge, ContradictionsNameTheNode) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 4}));
  m.output(m.node("MatMul", {x, m.constant("w", {4, 2}, std::vector<float>(8))}, {}, "product"), "y");
  ASSERT_TRUE(ops::resolve(m.graph, kOpsets, {}).ok());
  Knowledge knowledge(m.graph);
  knowledge.set_type(x, GraphMaker::f32({5, 3}));
  const Status status = knowledge.infer(all_nodes(m.graph));
  EXPECT_THAT(status.to_string(), testing::HasSubstr("'product' (MatMul)"));
}

}  // namespace
}  // namespace tenon::runtime
