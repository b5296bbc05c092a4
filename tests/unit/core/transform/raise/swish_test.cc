#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;

/// x * Sigmoid(x) or the other order; `type` is that of x.
ir::ValueId swish(GraphBuilder& b, ir::ValueId x, bool gate_first) {
  const auto gate = b.op("Sigmoid", {x});
  return gate_first ? b.op("Mul", {gate, x}) : b.op("Mul", {x, gate});
}

TEST(RaiseSwish, BothOrders) {
  for (const bool gate_first : {false, true}) {
    for (const int64_t opset : {9, 13, 21, 24}) {
      GraphBuilder b(opset);
      b.output(b.op("Relu", {swish(b, b.op("Neg", {b.input("x", f32({2, 5}))}), gate_first)}));
      const auto result = transformed(b, "swish", {some({2, 5})});
      EXPECT_EQ(result.nodes(), 3u);
      EXPECT_EQ(result.count("Swish"), 1u);
    }
  }
}

TEST(RaiseSwish, TheProductMayBeAnOutput) {
  GraphBuilder b;
  b.output(swish(b, b.input("x", f32({3})), false));
  EXPECT_EQ(transformed(b, "swish", {some({3})}).count("Swish"), 1u);
}

TEST(RaiseSwish, EveryFloatingType) {
  for (const auto type : {ir::ElementType::kFloat16, ir::ElementType::kBFloat16, ir::ElementType::kFloat64}) {
    GraphBuilder b;
    b.output(swish(b, b.input("x", type_of(type, {ir::Dim(3)})), false));
    EXPECT_EQ(transformed(b, "swish", {some({3})}).count("Swish"), 1u) << ir::element_type_name(type);
  }
}

TEST(RaiseSwish, NotWhenTheGateIsReadElsewhere) {
  GraphBuilder used;
  const auto gate = used.op("Sigmoid", {used.input("x", f32({3}))});
  used.output(used.op("Mul", {used.graph().inputs()[0], gate}));
  used.output(used.op("Neg", {gate}));
  EXPECT_EQ(transformed(used, "swish", {some({3})}).changes, 0u);
  GraphBuilder shown;
  const auto also = shown.op("Sigmoid", {shown.input("x", f32({3}))});
  shown.output(shown.op("Mul", {shown.graph().inputs()[0], also}));
  shown.output(also);
  EXPECT_EQ(transformed(shown, "swish", {some({3})}).changes, 0u);
}

TEST(RaiseSwish, NotOfTwoValues) {
  GraphBuilder b;
  const auto x = b.input("x", f32({3})), y = b.input("y", f32({3}));
  b.output(b.op("Mul", {y, b.op("Sigmoid", {x})}));
  EXPECT_EQ(transformed(b, "swish", {some({3}), some({3}, 2)}).changes, 0u);
}

TEST(RaiseSwish, InsideNestedGraphs) {
  GraphBuilder b;
  const auto x = b.input("x", f32({3})), c = b.input("c", type_of(ir::ElementType::kBool, {}));
  GraphBuilder yes, no;
  const auto inner = yes.graph().add_capture(x, "x", {});
  yes.output(yes.op("Mul", {inner, yes.op("Sigmoid", {inner})}));
  no.output(no.op("Neg", {no.graph().add_capture(x, "x", {})}));
  b.output(b.op(
      "If", {c},
      {Attribute::of_graph("then_branch", yes.graph()), Attribute::of_graph("else_branch", no.graph())}));
  EXPECT_EQ(transformed(b, "swish", {some({3}), Array{{}, {1}}}).changes, 1u);
}

TEST(RaiseHardSwish, ByHardSigmoid) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2, 40}));
  const auto gate = b.op("HardSigmoid", {x}, {Attribute::of_float("alpha", 1.0f / 6)});
  b.output(b.op("Mul", {gate, x}));
  EXPECT_EQ(transformed(b, "hard_swish", {some({2, 40})}).count("HardSwish"), 1u);
}

TEST(RaiseHardSwish, NotWithAnotherSlope) {
  for (const float alpha : {0.2f, 0.1666f}) {
    GraphBuilder b;
    const auto x = b.input("x", f32({4}));
    b.output(b.op("Mul", {x, b.op("HardSigmoid", {x}, {Attribute::of_float("alpha", alpha)})}));
    EXPECT_EQ(transformed(b, "hard_swish", {some({4})}).changes, 0u);
  }
  GraphBuilder offset;
  const auto x = offset.input("x", f32({4}));
  offset.output(offset.op(
      "Mul", {x, offset.op("HardSigmoid", {x},
                           {Attribute::of_float("alpha", 1.0f / 6), Attribute::of_float("beta", 0.4f)})}));
  EXPECT_EQ(transformed(offset, "hard_swish", {some({4})}).changes, 0u);
}

/// x * Clip(x + 3, 0, 6) / 6 in the orders that exporters write; -1 gives another bound.
ir::ValueId by_clip(GraphBuilder& b, ir::ValueId x, int order, float high = 6) {
  const auto number = [&](float value) { return b.constant(floats({}, {value})); };
  const auto six = b.op("Clip", {b.op("Add", {x, number(3)}), number(0), number(high)});
  if (order == 0) return b.op("Mul", {x, b.op("Div", {six, number(6)})});
  if (order == 1) return b.op("Div", {b.op("Mul", {x, six}), number(6)});
  if (order == 2) return b.op("Mul", {b.op("Mul", {six, x}), number(1.0f / 6)});
  return b.op("Mul", {b.op("Mul", {number(0.16666667f), six}), x});
}

TEST(RaiseHardSwish, ByClip) {
  for (const int order : {0, 1, 2, 3}) {
    GraphBuilder b;
    b.output(by_clip(b, b.input("x", f32({2, 40})), order));
    const auto result = transformed(b, "hard_swish", {some({2, 40})});
    EXPECT_EQ(result.count("HardSwish"), 1u) << order;
    EXPECT_EQ(result.nodes(), 1u) << order;
  }
  GraphBuilder b;
  b.output(by_clip(b, b.input("x", f32({8})), 0, 5));
  EXPECT_EQ(transformed(b, "hard_swish", {some({8})}).changes, 0u);
}

}  // namespace
}  // namespace tenon::testing
