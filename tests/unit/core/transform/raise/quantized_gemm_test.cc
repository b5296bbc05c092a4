#include "tests/unit/core/transform/raise/quantized_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::ValueId;

struct GemmCase {
  int64_t m = 3, k = 5, n = 4;
  Scaling a{kU8, {0.02f}, {131}, 1, true};
  Scaling b{kI8, {0.01f}, {0}, 1, true};
  Scaling y{kU8, {0.05f}, {120}, 1, true};
  bool turn_a = false, turn_b = false, has_bias = true;
  float alpha = 1, beta = 1, bias_error = 1;
  std::string clamp;

  std::vector<int64_t> a_dims() const { return turn_a ? std::vector{k, m} : std::vector{m, k}; }
  std::vector<Array> inputs() const { return {some_bytes(a_dims(), a.type)}; }

  ValueId product(GraphBuilder& g) const {
    const std::vector<int64_t> dims = a_dims(), b_dims = turn_b ? std::vector{n, k} : std::vector{k, n};
    const ValueId left = g.input("a", type_of(a.type, {dims.begin(), dims.end()}));
    const ValueId right = g.constant(tensor_of(some_bytes(b_dims, b.type, 3), b.type));
    std::vector<ValueId> in = {dequantize(g, left, a), dequantize(g, right, b)};
    if (has_bias) {
      Scaling by{kI32, {}, {}, 0, true};
      for (const float scale : b.scales) by.scales.push_back(scale * a.scales[0] * alpha * bias_error);
      by.zeros.assign(by.scales.size(), 0);
      in.push_back(dequantize(g, g.constant(tensor_of(some_integers({n}, -900, 900, 5), kI32)), by));
    }
    return g.op("Gemm", in,
                {Attribute::of_float("alpha", alpha), Attribute::of_float("beta", beta),
                 Attribute::of_int("transA", turn_a ? 1 : 0), Attribute::of_int("transB", turn_b ? 1 : 0)});
  }
  void build(GraphBuilder& g) const {
    ValueId sum = product(g);
    if (!clamp.empty()) sum = g.op(clamp, {sum});
    g.output(quantize(g, sum, y));
  }
};

void expect(const GemmCase& c, bool raised, const std::string& text = {}) {
  SCOPED_TRACE(text);
  GraphBuilder g;
  c.build(g);
  const auto result = transformed(g, "quantized_gemm", c.inputs());
  EXPECT_EQ(result.count("QGemm"), raised ? 1u : 0u);
  EXPECT_EQ(result.nodes() == 1, raised);
}

TEST(RaiseQuantizedGemm, EveryFormOfTheFactors) {
  for (const auto a : {kU8, kI8}) {
    for (const auto b : {kU8, kI8}) {
      for (const bool turn_a : {false, true}) {
        for (const bool turn_b : {false, true}) {
          GemmCase c;
          c.a.type = a;
          c.b.type = b;
          c.a.zeros = c.b.zeros = c.y.zeros = {a == b ? 0 : 9};
          c.y.type = a == b ? kI8 : kU8;
          c.turn_a = turn_a;
          c.turn_b = turn_b;
          expect(c, true);
          c.alpha = 0.5f;
          expect(c, true, "alpha");
          c.has_bias = false;
          c.beta = 3;
          expect(c, true, "without bias");
        }
      }
    }
  }
}

TEST(RaiseQuantizedGemm, AScaleForEachColumn) {
  GemmCase c;
  c.b = {kI8, {0.01f, 0.02f, 0.003f, 0.004f}, {0, 1, -2, 0}, 1, true};
  expect(c, true);
  c.turn_b = true;
  expect(c, false, "of each row");
  c.b.axis = 0;
  expect(c, true);
  c = {};
  c.has_bias = false;
  c.a = {kU8, {0.1f, 0.2f, 0.3f}, {0, 1, 2}, 0, true};
  expect(c, false, "rows of a");
}

TEST(RaiseQuantizedGemm, NotWithAnotherBias) {
  GemmCase c;
  c.beta = 2;
  expect(c, false, "beta");
  c.beta = 1;
  c.bias_error = 1.0001f;
  expect(c, false, "scale");
  c.bias_error = 1;
  c.m = 0;
  expect(c, true, "an empty batch");
}

TEST(RaiseQuantizedGemm, ReluWhereTheLowestByteStandsForZero) {
  GemmCase c;
  c.clamp = "Relu";
  expect(c, false);
  c.y.zeros = {0};
  expect(c, true);
}

TEST(RaiseQuantizedGemm, NotWhenTheProductIsAnOutput) {
  const GemmCase c;
  GraphBuilder g;
  const ValueId product = c.product(g);
  g.output(product);
  g.output(quantize(g, product, c.y));
  EXPECT_EQ(transformed(g, "quantized_gemm", c.inputs()).changes, 0u);
}

TEST(RaiseQuantizedGemm, PutBackGivesTheSameGraph) {
  for (const bool has_bias : {false, true}) {
    GemmCase c;
    c.has_bias = has_bias;
    GraphBuilder g;
    c.build(g);
    expect_same_graph_put_back(g, 1);
  }
}

}  // namespace
}  // namespace tenon::testing
