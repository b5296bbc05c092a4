#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::ValueId;

const std::string kName = "scale_into_conv";

struct Conv {
  explicit Conv(bool biased = true) {
    std::vector<ValueId> inputs = {b.input("x", f32({1, 2, 5, 5})), b.constant(some_floats({4, 2, 3, 3}))};
    if (biased) inputs.push_back(b.constant(some_floats({4})));
    y = b.op("Conv", inputs);
  }
  size_t changes(ValueId out) {
    b.output(out);
    return transformed(b, kName, {some({1, 2, 5, 5})}).changes;
  }

  GraphBuilder b;
  ValueId y;
};

TEST(ScaleIntoConv, EveryOperatorOnEitherSide) {
  for (const std::string op : {"Mul", "Add", "Sub", "Div"}) {
    for (const bool first : {true, false}) {
      for (const auto& dims : {std::vector<int64_t>{4, 1, 1}, {1, 4, 1, 1}, {}, {1}}) {
        for (const bool biased : {true, false}) {
          SCOPED_TRACE(op + (first ? " first" : " second"));
          Conv c(biased);
          const ValueId k = c.b.constant(some_floats(dims, 5));
          const bool divides_by_it = op == "Div" && !first;
          EXPECT_EQ(c.changes(first ? c.b.op(op, {c.y, k}) : c.b.op(op, {k, c.y})), divides_by_it ? 0u : 1u);
        }
      }
    }
  }
}

TEST(ScaleIntoConv, ChainsBecomeOneConv) {
  Conv c;
  const ValueId scaled = c.b.op("Mul", {c.y, c.b.constant(some_floats({4, 1, 1}, 5))});
  EXPECT_EQ(c.changes(c.b.op("Add", {scaled, c.b.constant(some_floats({4, 1, 1}, 6))})), 2u);
}

TEST(ScaleIntoConv, Transposed) {
  for (const int64_t group : {1, 2}) {
    GraphBuilder b;
    const auto y =
        b.op("ConvTranspose", {b.input("x", f32({1, 4, 3, 3})), b.constant(some_floats({4, 3, 2, 2}))},
             {Attribute::of_int("group", group)});
    b.output(b.op("Mul", {y, b.constant(some_floats({3 * group, 1, 1}, 5))}));
    EXPECT_EQ(transformed(b, kName, {some({1, 4, 3, 3})}).changes, 1u);
  }
}

TEST(ScaleIntoConv, NotAlongOtherAxes) {
  for (const auto& dims : {std::vector<int64_t>{3, 1}, {3}, {1, 3, 3}, {1, 1, 4, 1, 1}}) {
    Conv c;
    EXPECT_EQ(c.changes(c.b.op("Mul", {c.y, c.b.constant(some_floats(dims, 5))})), 0u);
  }
}

TEST(ScaleIntoConv, NotWhenTheConvIsReadElsewhere) {
  Conv c;
  c.b.output(c.b.op("Neg", {c.y}));
  EXPECT_EQ(c.changes(c.b.op("Mul", {c.y, c.b.constant(some_floats({4, 1, 1}, 5))})), 0u);
}

TEST(ScaleIntoConv, NotWhenWeightsWouldNotStayFinite) {
  for (const float number : {1e38f, INFINITY}) {
    GraphBuilder b;
    const auto y = b.op("Conv", {b.input("x", f32({1, 1, 2, 2})), b.constant(floats({1, 1, 1, 1}, {10}))});
    b.output(b.op("Mul", {y, b.constant(floats({}, {number}))}));
    ir::Model model;
    model.graph = b.done();
    model.opset_imports = b.imports();
    const auto report = transform::run_pipeline(model.graph, model, only(kName));
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->changes(kName), 0u);
  }
}

}  // namespace
}  // namespace tenon::testing
