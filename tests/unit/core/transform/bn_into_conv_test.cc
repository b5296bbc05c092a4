#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;

const std::string kName = "bn_into_conv";

std::vector<ir::ValueId> statistics(GraphBuilder& b, int64_t channels) {
  Array variance = some({channels}, 4);
  for (double& value : variance.values) value = value * value + 0.5;
  return {b.constant(some_floats({channels}, 1)), b.constant(some_floats({channels}, 2)),
          b.constant(some_floats({channels}, 3)), b.constant(tensor_of(variance, ElementType::kFloat32))};
}

ir::ValueId normalised(GraphBuilder& b, ir::ValueId x, int64_t channels) {
  std::vector<ir::ValueId> inputs = {x};
  for (const ir::ValueId value : statistics(b, channels)) inputs.push_back(value);
  return b.op("BatchNormalization", inputs, {Attribute::of_float("epsilon", 1e-3f)});
}

TEST(BnIntoConv, WithAndWithoutBias) {
  for (const bool bias : {false, true}) {
    GraphBuilder b;
    const auto x = b.input("x", f32({1, 2, 5, 5}));
    std::vector<ir::ValueId> inputs = {x, b.constant(some_floats({4, 2, 3, 3}))};
    if (bias) inputs.push_back(b.constant(some_floats({4})));
    b.output(b.op("Relu", {normalised(b, b.op("Conv", inputs), 4)}));
    const auto result = transformed(b, kName, {some({1, 2, 5, 5})});
    EXPECT_EQ(result.nodes(), 2u);
    EXPECT_EQ(result.count("BatchNormalization"), 0u);
  }
}

TEST(BnIntoConv, Groups) {
  GraphBuilder b;
  const auto x = b.input("x", f32({1, 4, 4, 4}));
  const auto y = b.op("Conv", {x, b.constant(some_floats({4, 1, 3, 3}))}, {Attribute::of_int("group", 4)});
  b.output(normalised(b, y, 4));
  EXPECT_EQ(transformed(b, kName, {some({1, 4, 4, 4})}).nodes(), 1u);
}

TEST(BnIntoConv, Transposed) {
  for (const int64_t group : {1, 2}) {
    GraphBuilder b;
    const auto x = b.input("x", f32({1, 4, 3, 3}));
    const auto w = b.constant(some_floats({4, 3, 2, 2}));
    const auto y = b.op("ConvTranspose", {x, w}, {Attribute::of_int("group", group)});
    b.output(normalised(b, y, 3 * group));
    EXPECT_EQ(transformed(b, kName, {some({1, 4, 3, 3})}).nodes(), 1u);
  }
}

TEST(BnIntoConv, NotWhenTheConvIsUsedElsewhere) {
  GraphBuilder b;
  const auto y = b.op("Conv", {b.input("x", f32({1, 2, 4, 4})), b.constant(some_floats({4, 2, 3, 3}))});
  b.output(normalised(b, y, 4));
  b.output(b.op("Relu", {y}));
  EXPECT_EQ(transformed(b, kName, {some({1, 2, 4, 4})}).changes, 0u);
}

TEST(BnIntoConv, NotWithWeightsFromOutsideNorAfterOtherNodes) {
  GraphBuilder weights, other;
  const auto y =
      weights.op("Conv", {weights.input("x", f32({1, 2, 4, 4})), weights.input("w", f32({4, 2, 3, 3}))});
  weights.output(normalised(weights, y, 4));
  EXPECT_EQ(transformed(weights, kName, {some({1, 2, 4, 4}), some({4, 2, 3, 3})}).changes, 0u);
  other.output(normalised(other, other.op("Relu", {other.input("x", f32({1, 4, 2, 2}))}), 4));
  EXPECT_EQ(transformed(other, kName, {some({1, 4, 2, 2})}).changes, 0u);
}

}  // namespace
}  // namespace tenon::testing
