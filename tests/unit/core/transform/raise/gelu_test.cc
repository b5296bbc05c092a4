#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::ValueId;

const std::string kName = "gelu";

class Gelu {
 public:
  explicit Gelu(std::vector<int64_t> dims = {3, 8}) : x(b.input("x", f32(std::move(dims)))) {}

  ValueId number(float value, std::vector<int64_t> dims = {}) {
    return b.constant(floats(std::move(dims), {value}));
  }
  ValueId mul(ValueId u, ValueId v) { return b.op("Mul", {u, v}); }
  ValueId div(ValueId u, ValueId v) { return b.op("Div", {u, v}); }
  ValueId add(ValueId u, ValueId v) { return b.op("Add", {u, v}); }
  ValueId erf(float root = 1.41421356f) { return b.op("Erf", {div(x, number(root))}); }
  /// Adds the output and runs the rule.
  TransformResult result(ValueId y) {
    b.output(y);
    return transformed(b, kName, {some({3, 8})});
  }

  GraphBuilder b;
  ValueId x;
};

void expect_raised(Gelu& g, ValueId y, const std::string& form) {
  const auto result = g.result(y);
  EXPECT_EQ(result.nodes(), 1u) << ir::to_text(result.model.graph);
  ASSERT_EQ(result.count("Gelu"), 1u);
  for (ir::NodeId id = 0; id < result.model.graph.node_limit(); ++id) {
    if (!result.model.graph.has_node(id)) continue;
    EXPECT_EQ(result.model.graph.node(id).find("approximate")->s, form);
  }
}

TEST(RaiseGelu, OrdersOfProductsWithErf) {
  for (int order = 0; order < 6; ++order) {
    SCOPED_TRACE(order);
    Gelu g;
    const auto half = g.number(0.5f), one = g.number(1), x = g.x;
    ValueId y = ir::kNone;
    if (order == 0) y = g.mul(g.mul(x, g.add(g.erf(), one)), half);
    if (order == 1) y = g.mul(g.mul(x, half), g.add(one, g.erf()));
    if (order == 2) y = g.mul(x, g.mul(half, g.add(g.erf(), one)));
    if (order == 3) y = g.mul(half, g.mul(g.add(g.erf(), one), x));
    if (order == 4) y = g.div(g.mul(x, g.add(g.erf(), one)), g.number(2));
    if (order == 5) y = g.mul(g.add(g.mul(g.erf(), half), half), x);
    expect_raised(g, y, "none");
  }
}

TEST(RaiseGelu, ErfOfAProduct) {
  Gelu g;
  const auto t = g.b.op("Erf", {g.mul(g.number(0.70710677f), g.x)});
  expect_raised(g, g.mul(g.mul(g.x, g.number(0.5f)), g.add(t, g.number(1, {1}))), "none");
}

TEST(RaiseGelu, CubesWithTanh) {
  for (int order = 0; order < 5; ++order) {
    SCOPED_TRACE(order);
    Gelu g;
    const auto x = g.x, s = g.number(0.7978846f), c = g.number(0.044715f), one = g.number(1);
    ValueId v = ir::kNone;
    if (order == 0) v = g.mul(s, g.add(x, g.mul(c, g.b.op("Pow", {x, g.number(3)}))));
    if (order == 1) v = g.mul(g.add(x, g.mul(g.mul(g.mul(c, x), x), x)), s);
    if (order == 2) v = g.mul(g.mul(x, s), g.add(one, g.mul(g.mul(x, c), x)));
    if (order == 3) v = g.mul(s, g.add(g.mul(c, g.mul(x, g.mul(x, x))), x));
    if (order == 4)
      v = g.mul(x, g.add(s, g.mul(g.number(0.7978846f * 0.044715f), g.b.op("Pow", {x, g.number(2)}))));
    expect_raised(g, g.mul(g.mul(g.number(0.5f), x), g.add(g.b.op("Tanh", {v}), one)), "tanh");
  }
}

TEST(RaiseGelu, WhereTheInputIsAProductItself) {
  Gelu g;
  const auto x = g.mul(g.x, g.number(3));
  const auto t = g.b.op("Erf", {g.div(x, g.number(1.41421356f))});
  const auto result = g.result(g.mul(g.mul(x, g.add(t, g.number(1))), g.number(0.5f)));
  EXPECT_EQ(result.count("Gelu"), 1u);
  EXPECT_EQ(result.count("Mul"), 1u);
}

TEST(RaiseGelu, NotWithOtherNumbers) {
  for (int which = 0; which < 4; ++which) {
    SCOPED_TRACE(which);
    Gelu g;
    const auto t = g.erf(which == 0 ? 1.4142f : 1.41421356f);
    const auto gate = g.add(t, g.number(which == 1 ? 2 : 1));
    const auto y = g.mul(g.mul(g.x, gate), g.number(which == 2 ? 0.25f : 0.5f));
    const auto result = g.result(which == 3 ? gate : y);
    EXPECT_EQ(result.changes, 0u);
  }
}

TEST(RaiseGelu, NotWhenAStepIsReadElsewhere) {
  Gelu g;
  const auto gate = g.add(g.erf(), g.number(1));
  g.b.output(g.b.op("Neg", {gate}));
  EXPECT_EQ(g.result(g.mul(g.mul(g.x, gate), g.number(0.5f))).changes, 0u);
}

TEST(RaiseGelu, NotWhenANumberAddsDimensions) {
  Gelu g;
  const auto gate = g.add(g.erf(), g.number(1, {1, 1, 1}));
  EXPECT_EQ(g.result(g.mul(g.mul(g.x, gate), g.number(0.5f))).changes, 0u);
}

/// A number of rank 1 would make a vector of a scalar.
TEST(RaiseGelu, NumbersBesideAValueOfUnknownRank) {
  for (const auto& dims : {std::vector<int64_t>{}, {1}}) {
    GraphBuilder b;
    const auto x = b.input("x", ir::Type::tensor(ir::ElementType::kFloat32, {}));
    const auto number = [&](float v) { return b.constant(floats(dims, {v})); };
    const auto t = b.op("Erf", {b.op("Div", {x, number(1.41421356f)})});
    b.output(b.op("Mul", {b.op("Mul", {x, b.op("Add", {t, number(1)})}), number(0.5f)}));
    ir::Model model;
    model.graph = b.done();
    model.opset_imports = b.imports();
    const auto report = transform::run_pipeline(model.graph, model, only(kName));
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->changes(kName), dims.empty() ? 1u : 0u);
  }
}

TEST(RaiseGelu, DoublesNeedPreciseNumbers) {
  for (const double root : {1.4142135623730951, 1.41421356}) {
    GraphBuilder b;
    const auto x = b.input("x", type_of(ir::ElementType::kFloat64, {ir::Dim(4)}));
    const auto number = [&](double v) {
      return b.constant(tensor(ir::ElementType::kFloat64, {}, std::vector{v}));
    };
    const auto t = b.op("Erf", {b.op("Div", {x, number(root)})});
    b.output(b.op("Mul", {b.op("Mul", {x, b.op("Add", {t, number(1)})}), number(0.5)}));
    EXPECT_EQ(transformed(b, kName, {some({4})}).count("Gelu"), root == 1.41421356 ? 0u : 1u);
  }
}

}  // namespace
}  // namespace tenon::testing
