#include "tests/unit/core/transform/raise/quantized_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::ValueId;

/// A convolution with 3x3 filters whose parts can be changed before it is built.
struct ConvCase {
  int64_t batch = 2, channels = 4, outs = 6, group = 1;
  Scaling x{kU8, {0.02f}, {131}, 1, true};
  Scaling w{kI8, {0.01f}, {0}, 0, true};
  Scaling y{kU8, {0.05f}, {120}, 1, true};
  bool has_bias = true;
  float bias_error = 1;  // a factor of the bias' scale
  int bias_zero = 0;
  std::string clamp;  // "Relu", "Clip"
  float clip_low = 0, clip_high = 6;

  std::vector<int64_t> input_dims() const { return {batch, channels, 5, 6}; }
  std::vector<Array> inputs() const { return {some_bytes(input_dims(), x.type)}; }

  ValueId bias(GraphBuilder& b) const {
    Scaling by{kI32, {}, {}, 0, true};
    for (const float scale : w.scales) by.scales.push_back(scale * x.scales[0] * bias_error);
    by.zeros.assign(by.scales.size(), bias_zero);
    return dequantize(b, b.constant(tensor_of(some_integers({outs}, -900, 900, 5), kI32)), by);
  }
  ValueId conv(GraphBuilder& b, ValueId x_float) const {
    const std::vector<int64_t> dims = {outs, channels / group, 3, 3};
    std::vector<ValueId> in = {x_float,
                               dequantize(b, b.constant(tensor_of(some_bytes(dims, w.type, 3), w.type)), w)};
    if (has_bias) in.push_back(bias(b));
    return b.op("Conv", in,
                {Attribute::of_int("group", group), Attribute::of_ints("pads", {1, 1, 1, 1}),
                 Attribute::of_ints("strides", {1, 2})});
  }
  ValueId clamped(GraphBuilder& b, ValueId sum) const {
    if (clamp == "Relu") return b.op("Relu", {sum});
    if (clamp == "Clip")
      return b.op("Clip", {sum, b.constant(floats({}, {clip_low})), b.constant(floats({}, {clip_high}))});
    return sum;
  }
  ValueId input(GraphBuilder& b) const {
    std::vector<ir::Dim> dims;
    for (const int64_t dim : input_dims()) dims.emplace_back(dim);
    return b.input("x", type_of(x.type, dims));
  }
  void build(GraphBuilder& b) const {
    b.output(quantize(b, clamped(b, conv(b, dequantize(b, input(b), x))), y));
  }
};

void expect_raised(const ConvCase& c, const std::string& text = {}) {
  SCOPED_TRACE(text);
  GraphBuilder b;
  c.build(b);
  const auto result = transformed(b, "quantized_conv", c.inputs());
  EXPECT_EQ(result.count("QLinearConv"), 1u);
  EXPECT_EQ(result.nodes(), 1u);
}
void expect_kept(const ConvCase& c, const std::string& text = {}) {
  SCOPED_TRACE(text);
  GraphBuilder b;
  c.build(b);
  EXPECT_EQ(transformed(b, "quantized_conv", c.inputs()).changes, 0u);
}

TEST(RaiseQuantizedConv, EveryPairOfTypesAndZeroPoints) {
  for (const auto x : {kU8, kI8}) {
    for (const auto w : {kU8, kI8}) {
      for (const int shift : {0, 7}) {
        ConvCase c;
        c.x.type = x;
        c.w.type = w;
        c.y.type = x == w ? kI8 : kU8;
        c.x.zeros = {shift * 3};
        c.w.zeros = {shift};
        c.y.zeros = {shift * 2};
        expect_raised(c, str_cat(ir::element_type_name(x), " ", ir::element_type_name(w), " ", shift));
        c.has_bias = false;
        expect_raised(c, "without bias");
        c.x.has_zero = c.w.has_zero = c.y.has_zero = shift != 0;
        if (c.y.has_zero || c.y.type == kU8) expect_raised(c, "without zero points");
      }
    }
  }
}

TEST(RaiseQuantizedConv, WeightsWithOneScalePerChannel) {
  for (const int64_t axis : {0, -4}) {
    ConvCase c;
    c.w = {kI8, {0.01f, 0.02f, 0.003f, 0.004f, 0.005f, 0.1f}, {0, 1, -2, 0, 3, 0}, axis, true};
    expect_raised(c);
    c.w.has_zero = false;
    expect_raised(c);
  }
}

TEST(RaiseQuantizedConv, GroupsDepthwiseAndAnEmptyBatch) {
  ConvCase groups, depthwise, empty;
  groups.group = 2;
  expect_raised(groups, "groups");
  depthwise.channels = depthwise.outs = depthwise.group = 4;
  expect_raised(depthwise, "depthwise");
  empty.batch = 0;
  expect_raised(empty, "empty");
}

TEST(RaiseQuantizedConv, ReluWhereTheLowestByteStandsForZero) {
  ConvCase c;
  c.clamp = "Relu";
  c.y.zeros = {0};
  expect_raised(c);
  c.y.has_zero = false;
  expect_raised(c);
  c.y = {kI8, {0.05f}, {-128}, 1, true};
  expect_raised(c);
  for (const int zero : {-127, 0, 127}) {
    c.y.zeros = {zero};
    expect_kept(c);
  }
}

TEST(RaiseQuantizedConv, ClipWithBoundsBeyondTheBytes) {
  ConvCase c;
  c.clamp = "Clip";
  c.y = {kU8, {6.0f / 255}, {0}, 1, true};
  expect_raised(c);
  c.clip_high = 5.9f;
  expect_kept(c, "a smaller maximum");
  c.clip_high = 6;
  c.y.zeros = {1};
  expect_kept(c, "bytes for numbers below the minimum");
  c.clip_low = -1;
  c.clip_high = 7;
  expect_raised(c, "both bounds beyond");
}

TEST(RaiseQuantizedConv, NotWithAnotherBias) {
  ConvCase c;
  c.bias_error = 1.0001f;
  expect_kept(c, "scale");
  c.bias_error = 1;
  c.bias_zero = 1;
  expect_kept(c, "zero point");
  const ConvCase plain;
  GraphBuilder b;
  const ValueId x = dequantize(b, plain.input(b), plain.x);
  const ValueId w = dequantize(b, b.constant(tensor_of(some_bytes({6, 4, 3, 3}, kI8), kI8)), plain.w);
  b.output(quantize(b, b.op("Conv", {x, w, b.constant(some_floats({6}))}), plain.y));
  EXPECT_EQ(transformed(b, "quantized_conv", plain.inputs()).changes, 0u) << "in floats";
}

TEST(RaiseQuantizedConv, NotWithOtherScales) {
  ConvCase c;
  c.x.scales = {0.1f, 0.2f, 0.3f, 0.4f};
  c.x.zeros = {1, 2, 3, 4};
  c.has_bias = false;
  expect_kept(c, "of each channel of x");
  c = {};
  c.has_bias = false;
  c.w = {kI8, {0.1f, 0.2f, 0.3f, 0.4f}, {0, 0, 0, 0}, 1, true};
  expect_kept(c, "of each channel that the weights read");
  c = {};
  c.y.scales = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  c.y.zeros = {1, 2, 3, 4, 5, 6};
  expect_kept(c, "of each channel of y");
}

TEST(RaiseQuantizedConv, NotWithAScaleThatIsComputed) {
  const ConvCase c;
  GraphBuilder b;
  const ValueId x = c.input(b), scale = b.input("scale", f32({}));
  const ValueId real = b.op("DequantizeLinear", {x, scale});
  b.output(quantize(b, c.conv(b, real), c.y));
  EXPECT_EQ(transformed(b, "quantized_conv", {c.inputs()[0], Array{{}, {0.02}}}).changes, 0u);
}

TEST(RaiseQuantizedConv, NotInFloat16) {
  const auto half = [](double value) { return tensor_of({{}, {value}}, ir::ElementType::kFloat16); };
  const ConvCase c;
  GraphBuilder b;
  const ValueId x = b.op("DequantizeLinear", {c.input(b), b.constant(half(0.02))});
  const ValueId bytes = b.constant(tensor_of(some_bytes({6, 4, 3, 3}, kI8), kI8));
  const ValueId w = b.op("DequantizeLinear", {bytes, b.constant(half(0.01))});
  b.output(b.op("QuantizeLinear", {b.op("Conv", {x, w}), b.constant(half(0.5))}));
  EXPECT_EQ(transformed(b, "quantized_conv", c.inputs()).changes, 0u);
}

TEST(RaiseQuantizedConv, NotWithBlocksOrParametersOfHigherRank) {
  const ConvCase c;
  GraphBuilder b;
  const ValueId bytes = b.constant(tensor_of(some_bytes({6, 4, 3, 3}, kI8), kI8));
  const ValueId w = b.op("DequantizeLinear", {bytes, b.constant(some_floats({6, 2, 3, 3}))},
                         {Attribute::of_int("block_size", 2)});
  const ValueId sum = b.op("Conv", {dequantize(b, c.input(b), c.x), w});
  b.output(quantize(b, sum, c.y));
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  const auto report = transform::run_pipeline(model.graph, model, only("quantized_conv"));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->changes("quantized_conv"), 0u);
}

TEST(RaiseQuantizedConv, NotWhenAMiddleValueIsReadElsewhere) {
  const ConvCase c;
  for (const bool is_output : {true, false}) {
    GraphBuilder b;
    const ValueId sum = c.conv(b, dequantize(b, c.input(b), c.x));
    b.output(quantize(b, sum, c.y));
    b.output(is_output ? sum : b.op("Neg", {sum}));
    EXPECT_EQ(transformed(b, "quantized_conv", c.inputs()).changes, 0u);
  }
}

TEST(RaiseQuantizedConv, NotWhenSumsMayOverflow) {
  ConvCase c;
  c.has_bias = true;
  c.x.scales = {1e-6f};
  GraphBuilder b;
  const ValueId x = dequantize(b, c.input(b), c.x);
  const ValueId w = dequantize(b, b.constant(tensor_of(some_bytes({6, 4, 3, 3}, kI8), kI8)), c.w);
  const ValueId numbers = b.constant(integers(kI32, {6}, {0, 1, 2, 3, 4, 2147483000}));
  const ValueId bias = dequantize(b, numbers, {kI32, {c.x.scales[0] * c.w.scales[0]}, {0}, 0, true});
  b.output(quantize(b, b.op("Conv", {x, w, bias}), c.y));
  EXPECT_EQ(transformed(b, "quantized_conv", c.inputs()).changes, 0u);
}

TEST(RaiseQuantizedConv, WhatOthersReadStays) {
  const ConvCase c;
  GraphBuilder b;
  const ValueId real = dequantize(b, c.input(b), c.x);
  b.output(quantize(b, c.conv(b, real), c.y));
  b.output(b.op("Neg", {real}));
  const auto result = transformed(b, "quantized_conv", c.inputs());
  EXPECT_EQ(result.count("QLinearConv"), 1u);
  EXPECT_EQ(result.count("DequantizeLinear"), 1u);
  GraphBuilder shown;
  const ValueId output = dequantize(shown, c.input(shown), c.x);
  shown.output(quantize(shown, c.conv(shown, output), c.y));
  shown.output(output);
  EXPECT_EQ(transformed(shown, "quantized_conv", c.inputs()).nodes(), 2u);
}

/// Two convolutions of one tensor by the same weights; an Add of the tensor beside them.
void build_shared(GraphBuilder& b, bool has_add) {
  const ConvCase c;
  const ValueId x = c.input(b), real = dequantize(b, x, c.x), sum = c.conv(b, real);
  const ir::Node conv = b.graph().node(b.graph().value(sum).producer);
  ConvCase other = c;
  other.y.scales = {0.1f};
  b.output(quantize(b, sum, c.y));
  b.output(quantize(b, b.op("Conv", conv.inputs), other.y));
  if (has_add) b.output(b.op("Add", {real, real}));
}

TEST(RaiseQuantizedConv, TwoOfTheSameTensor) {
  for (const bool has_add : {false, true}) {
    GraphBuilder b;
    build_shared(b, has_add);
    const auto result = transformed(b, "quantized_conv", ConvCase().inputs());
    EXPECT_EQ(result.count("QLinearConv"), 2u);
    EXPECT_EQ(result.nodes(), has_add ? 4u : 2u) << ir::to_text(result.model.graph);
  }
}

TEST(RaiseQuantizedConv, PutBackGivesTheSameGraph) {
  for (const bool has_add : {false, true}) {
    GraphBuilder b;
    build_shared(b, has_add);
    expect_same_graph_put_back(b, 2);
  }
  ConvCase c;
  c.clamp = "Relu";
  c.y.has_zero = false;
  GraphBuilder b;
  c.build(b);
  expect_same_graph_put_back(b, 1);
}

TEST(RaiseQuantizedConv, AFileHasTheNodes) {
  GraphBuilder b;
  ConvCase().build(b);
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, {}).ok());
  ASSERT_EQ(model.graph.node_count(), 1u);
  EXPECT_EQ(transform::put_back_for_file(model.graph, 24), 1u);
  EXPECT_EQ(model.graph.node_count(), 5u);
}

}  // namespace
}  // namespace tenon::testing
