#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;

TEST(DeadNodes, RemovesWhatNobodyUses) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  b.op("Neg", {b.op("Add", {x, b.constant(some_floats({2}))})});
  b.constant(some_floats({5}));
  b.output(b.op("Relu", {x}));
  const auto result = transformed(b, "dead_nodes", {some({2})});
  EXPECT_EQ(result.nodes(), 1u);
  EXPECT_EQ(result.model.graph.find_value("c"), ir::kNone);
}

TEST(DeadNodes, KeepsNodesWithOneUsedOutputAndUnusedInputs) {
  GraphBuilder b;
  b.input("unused", f32({2}));
  const auto parts = b.ops("Split", {b.input("x", f32({4})), b.ints({2, 2})}, 2);
  b.output(parts[1]);
  const auto result = transformed(b, "dead_nodes", {some({2}), some({4})});
  EXPECT_EQ(result.nodes(), 1u);
  EXPECT_EQ(result.changes, 0u);
  EXPECT_EQ(result.model.graph.inputs().size(), 2u);
}

TEST(DeadNodes, InBodiesAndTheirCaptures) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2})), c = b.input("c", type_of(ElementType::kBool, {}));
  const auto y = b.op("Neg", {x});
  auto body = [&] {
    GraphBuilder inner;
    const auto ix = inner.graph().add_capture(x, "x", f32({2}));
    inner.op("Exp", {inner.graph().add_capture(y, "y", f32({2}))});
    inner.output(inner.op("Relu", {ix}));
    return inner.graph();
  };
  b.output(b.op("If", {c},
                {Attribute::of_graph("then_branch", body()), Attribute::of_graph("else_branch", body())}));
  const auto result = transformed(b, "dead_nodes", {some({2}), Array{{}, {1}}});
  EXPECT_EQ(result.nodes(), 1u);
  EXPECT_EQ(result.count("Neg"), 0u);
}

}  // namespace
}  // namespace tenon::testing
