#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;

const std::string kName = "pad_into_conv";

ir::ValueId conv(GraphBuilder& b, ir::ValueId x, std::vector<Attribute> attributes = {}) {
  return b.op("Conv", {x, b.constant(some_floats({3, 2, 3, 3}))}, std::move(attributes));
}

TEST(PadIntoConv, AddsUp) {
  GraphBuilder b;
  const auto x = b.input("x", f32({1, 2, 5, 6}));
  const auto padded = b.op("Pad", {x, b.ints({0, 0, 1, 0, 0, 0, 2, 1})});
  b.output(conv(b, padded, {Attribute::of_ints("pads", {0, 1, 1, 0})}));
  EXPECT_EQ(transformed(b, kName, {some({1, 2, 5, 6})}).nodes(), 1u);
}

TEST(PadIntoConv, NotWithOtherValuesModesOrAxes) {
  GraphBuilder value, mode, channel;
  auto x = value.input("x", f32({1, 2, 5, 5}));
  value.output(conv(
      value, value.op("Pad", {x, value.ints({0, 0, 1, 1, 0, 0, 1, 1}), value.constant(floats({}, {1}))})));
  EXPECT_EQ(transformed(value, kName, {some({1, 2, 5, 5})}).changes, 0u);
  x = channel.input("x", f32({1, 1, 5, 5}));
  channel.output(conv(channel, channel.op("Pad", {x, channel.ints({0, 1, 0, 0, 0, 0, 0, 0})})));
  EXPECT_EQ(transformed(channel, kName, {some({1, 1, 5, 5})}).changes, 0u);
  x = mode.input("x", f32({1, 2, 5, 5}));
  const auto padded =
      mode.op("Pad", {x, mode.ints({0, 0, 1, 1, 0, 0, 1, 1})}, {Attribute::of_string("mode", "reflect")});
  mode.output(conv(mode, padded));
  ir::Model model;
  model.graph = mode.done();
  model.opset_imports = mode.imports();
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, {}).ok());
  EXPECT_EQ(model.graph.node_count(), 2u);
}

TEST(PadIntoConv, APadWithOtherUsersStaysForThem) {
  GraphBuilder b;
  const auto padded = b.op("Pad", {b.input("x", f32({1, 2, 5, 5})), b.ints({0, 0, 1, 1, 0, 0, 1, 1})});
  b.output(conv(b, padded));
  b.output(b.op("Relu", {padded}));
  const auto result = transformed(b, kName, {some({1, 2, 5, 5})});
  EXPECT_EQ(result.changes, 1u);
  EXPECT_EQ(result.nodes(), 3u);
}

}  // namespace
}  // namespace tenon::testing
