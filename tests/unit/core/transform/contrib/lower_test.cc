#include <cmath>

#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::ElementType;
using ::testing::HasSubstr;

/// Lowers node 0, inlines what is a function in the result, and evaluates that.
std::vector<Array> lowered(GraphBuilder& builder, const std::vector<Array>& inputs) {
  ir::Graph graph = builder.done();
  std::vector<std::string> names;
  for (const ir::ValueId id : graph.outputs()) names.push_back(graph.value(id).name);
  EXPECT_TRUE(transform::can_lower_contrib(graph.node(0)));
  const Status status = transform::lower_contrib(graph, 0, builder.imports());
  EXPECT_TRUE(status.ok()) << status.to_string();
  if (!status.ok()) return {};
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(graph.value(graph.outputs()[i]).name, names[i]);
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    if (!graph.has_node(id) || graph.node(id).is("Softmax") || graph.node(id).is("Range") ||
        !ops::has_function_body(graph.node(id)))
      continue;
    const Result<ir::Function> body = ops::function_body(graph, id, {{"", 24}});
    EXPECT_TRUE(body.ok()) << body.status().to_string();
    if (!body.ok()) return {};
    EXPECT_TRUE(ir::inline_call(graph, id, *body).ok());
    EXPECT_TRUE(ops::infer_graph(graph, {}).ok());  // bodies inside may depend on types
  }
  const Status sound = ir::verify(graph);
  EXPECT_TRUE(sound.ok()) << sound.to_string();
  const auto out = evaluate(graph, inputs);
  EXPECT_TRUE(out.ok()) << out.status().to_string() << ir::to_text(graph);
  return out.ok() ? *out : std::vector<Array>();
}

Array mapped(const Array& x, double (*function)(double)) {
  Array out = x;
  for (double& value : out.values) value = function(value);
  return out;
}

TEST(LowerContrib, Gelus) {
  GraphBuilder exact(11), fast(11);
  exact.output(exact.op("com.microsoft:Gelu", {exact.input("x", f32({2, 3}))}));
  fast.output(fast.op("com.microsoft:FastGelu", {fast.input("x", f32({2, 3}))}));
  const Array x = some({2, 3});
  expect_close(lowered(exact, {x}),
               {mapped(x, [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); })});
  expect_close(lowered(fast, {x}),
               {mapped(x,
                       [](double v) {
                         return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
                       })},
               1e-4);
}

TEST(LowerContrib, SkipLayerNormalizationGivesTheSumToo) {
  GraphBuilder b(11);
  const auto x = b.input("x", f32({2, 4})), skip = b.input("skip", f32({2, 4}));
  const auto gamma = b.constant(some_floats({4}, 3)), beta = b.constant(some_floats({4}, 4));
  const auto out = b.ops("com.microsoft:SkipLayerNormalization", {x, skip, gamma, beta}, 4);
  b.output(out[0]);
  b.output(out[3]);
  const Array a = some({2, 4}, 1), s = some({2, 4}, 2), scale = some({4}, 3), bias = some({4}, 4);
  Array sum = a, wanted = a;
  for (size_t i = 0; i < 8; ++i) sum.values[i] += s.values[i];
  for (size_t row = 0; row < 2; ++row) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < 4; ++i) mean += sum.values[row * 4 + i] / 4;
    for (size_t i = 0; i < 4; ++i) variance += std::pow(sum.values[row * 4 + i] - mean, 2) / 4;
    for (size_t i = 0; i < 4; ++i) {
      wanted.values[row * 4 + i] =
          (sum.values[row * 4 + i] - mean) / std::sqrt(variance + 1e-12) * scale.values[i] + bias.values[i];
    }
  }
  expect_close(lowered(b, {a, s}), {wanted, sum}, 1e-4);
}

TEST(LowerContrib, CausalAttentionOfOneHead) {
  GraphBuilder b(11);
  const auto x = b.input("x", f32({1, 3, 2}));
  // Queries, keys and values are the input itself.
  const auto weights = b.constant(floats({2, 6}, {1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1}));
  b.output(b.op("com.microsoft:Attention", {x, weights},
                {Attribute::of_int("num_heads", 1), Attribute::of_int("unidirectional", 1)}));
  const Array in = some({1, 3, 2});
  Array wanted{{1, 3, 2}, std::vector<double>(6, 0)};
  for (size_t i = 0; i < 3; ++i) {
    std::vector<double> weight;
    double total = 0;
    for (size_t j = 0; j <= i; ++j) {
      const double score = in.values[i * 2] * in.values[j * 2] + in.values[i * 2 + 1] * in.values[j * 2 + 1];
      weight.push_back(std::exp(score / std::sqrt(2.0)));
      total += weight.back();
    }
    for (size_t j = 0; j <= i; ++j) {
      for (size_t d = 0; d < 2; ++d) wanted.values[i * 2 + d] += weight[j] / total * in.values[j * 2 + d];
    }
  }
  expect_close(lowered(b, {in}), {wanted});
}

TEST(LowerContrib, WeightsInFourBits) {
  GraphBuilder b;
  const auto x = b.input("x", f32({1, 4}));
  // Two columns of four weights: 0..3 and 12..15, low halves of bytes first; the zero point is 8.
  const auto packed = b.constant(tensor<uint8_t>(ElementType::kUInt8, {2, 1, 2}, {0x10, 0x32, 0xdc, 0xfe}));
  const auto scales = b.constant(floats({2}, {0.5f, 2}));
  b.output(b.op("com.microsoft:MatMulNBits", {x, packed, scales},
                {Attribute::of_int("K", 4), Attribute::of_int("N", 2), Attribute::of_int("bits", 4),
                 Attribute::of_int("block_size", 4)}));
  expect_close(lowered(b, {Array{{1, 4}, {1, 2, 3, 4}}}), {Array{{1, 2}, {-30, 120}}});
}

TEST(LowerContrib, FusedConvAndImageScaler) {
  GraphBuilder conv, scaler(7);
  const auto x = conv.input("x", f32({1, 1, 1, 2}));
  conv.output(conv.op("com.microsoft:FusedConv", {x, conv.constant(floats({1, 1, 1, 1}, {2}))},
                      {Attribute::of_string("activation", "Relu")}));
  expect_close(lowered(conv, {Array{{1, 1, 1, 2}, {-1, 3}}}), {Array{{1, 1, 1, 2}, {0, 6}}});
  const auto image = scaler.input("x", f32({1, 2, 1, 1}));
  scaler.output(scaler.op("ImageScaler", {image},
                          {Attribute::of_float("scale", 2), Attribute::of_floats("bias", {1, -1})}));
  expect_close(lowered(scaler, {Array{{1, 2, 1, 1}, {3, 4}}}), {Array{{1, 2, 1, 1}, {7, 7}}});
}

TEST(LowerContrib, AUseWithoutAFormLeavesTheGraphAlone) {
  GraphBuilder b;
  const auto x = b.input("x", f32({1, 2, 4}));
  b.output(b.op("com.microsoft:Attention", {x, b.constant(some_floats({4, 12}))},
                {Attribute::of_int("num_heads", 2), Attribute::of_int("do_rotary", 1)}));
  ir::Graph& graph = b.done();
  const std::string before = ir::to_text(graph);
  const Status status = transform::lower_contrib(graph, 0, b.imports());
  EXPECT_EQ(status.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(status.to_string(), HasSubstr("Attention"));
  EXPECT_EQ(ir::to_text(graph), before);
  EXPECT_TRUE(ir::verify(graph).ok());
}

TEST(LowerContrib, AFactorOfAnOtherTypeThanAFloatingOneIsNotMade) {
  for (const ElementType element : {ElementType::kInt8, ElementType::kUndefined, ElementType::kComplex64}) {
    GraphBuilder b;
    const auto x = b.input("x", type_of(element, {ir::Dim(2), ir::Dim(2)}));
    b.output(b.op("com.microsoft:FusedMatMul", {x, x}, {Attribute::of_float("alpha", 0.5)}));
    ir::Graph& graph = b.done();
    const std::string before = ir::to_text(graph);
    EXPECT_EQ(transform::lower_contrib(graph, 0, b.imports()).kind(), ErrorKind::kUnsupported);
    EXPECT_EQ(ir::to_text(graph), before);
  }
}

TEST(LowerContrib, OperatorsOfTheStandardAreNotTaken) {
  GraphBuilder b(17);
  const auto x = b.input("x", f32({2, 4}));
  b.output(b.op("LayerNormalization", {x, b.constant(some_floats({4}))}));
  EXPECT_FALSE(transform::can_lower_contrib(b.done().node(0)));
}

}  // namespace
}  // namespace tenon::testing
