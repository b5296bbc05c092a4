#include "tests/unit/core/transform/raise/quantized_case.h"

namespace tenon::testing {
namespace {

using ir::ValueId;

struct MatMulCase {
  std::vector<int64_t> a_dims = {3, 5}, b_dims = {5, 4};
  Scaling a{kU8, {0.02f}, {131}, 1, true};
  Scaling b{kI8, {0.01f}, {0}, 1, true};
  Scaling y{kU8, {0.05f}, {120}, 1, true};
  bool is_constant = true;
  std::string clamp;

  std::vector<Array> inputs() const {
    std::vector<Array> out = {some_bytes(a_dims, a.type)};
    if (!is_constant) out.push_back(some_bytes(b_dims, b.type, 3));
    return out;
  }
  static ValueId input(GraphBuilder& g, const std::string& name, const std::vector<int64_t>& dims,
                       ir::ElementType type) {
    return g.input(name, type_of(type, {dims.begin(), dims.end()}));
  }
  ValueId product(GraphBuilder& g) const {
    const ValueId left = input(g, "a", a_dims, a.type);
    const ValueId right = is_constant ? g.constant(tensor_of(some_bytes(b_dims, b.type, 3), b.type))
                                      : input(g, "b", b_dims, b.type);
    return g.op("MatMul", {dequantize(g, left, a), dequantize(g, right, b)});
  }
  void build(GraphBuilder& g) const {
    ValueId sum = product(g);
    if (!clamp.empty()) sum = g.op(clamp, {sum});
    g.output(quantize(g, sum, y));
  }
};

void expect(const MatMulCase& c, bool raised, const std::string& text = {}) {
  SCOPED_TRACE(text);
  GraphBuilder g;
  c.build(g);
  const auto result = transformed(g, "quantized_matmul", c.inputs());
  EXPECT_EQ(result.count("QLinearMatMul"), raised ? 1u : 0u);
  EXPECT_EQ(result.nodes() == 1, raised);
}

TEST(RaiseQuantizedMatMul, EveryPairOfTypesAndZeroPoints) {
  for (const auto a : {kU8, kI8}) {
    for (const auto b : {kU8, kI8}) {
      for (const int shift : {0, 7}) {
        for (const bool is_constant : {true, false}) {
          MatMulCase c;
          c.a.type = a;
          c.b.type = b;
          c.y.type = a == b ? kI8 : kU8;
          c.a.zeros = {shift * 3};
          c.b.zeros = {shift};
          c.y.zeros = {shift * 2};
          c.is_constant = is_constant;
          c.a.has_zero = c.b.has_zero = shift != 0;
          expect(c, true);
        }
      }
    }
  }
}

TEST(RaiseQuantizedMatMul, BatchesAndAnEmptyOne) {
  MatMulCase c;
  c.a_dims = {2, 3, 5};
  expect(c, true, "one matrix");
  c.is_constant = false;
  c.b_dims = {2, 5, 4};
  expect(c, true, "matrices");
  c.a_dims = {0, 3, 5};
  c.b_dims = {5, 4};
  expect(c, true, "empty");
}

TEST(RaiseQuantizedMatMul, AScaleForEachColumnOfAConstantMatrix) {
  MatMulCase c;
  c.b = {kI8, {0.01f, 0.02f, 0.003f, 0.004f}, {0, 1, -2, 0}, 1, true};
  expect(c, true);
  c.b.axis = -1;
  expect(c, true);
  c.is_constant = false;
  expect(c, false, "not constant");
  c = {};
  c.b = {kI8, {0.1f, 0.2f, 0.3f, 0.4f, 0.5f}, {0, 0, 0, 0, 0}, 0, true};
  expect(c, false, "rows");
  c = {};
  c.a = {kU8, {0.1f, 0.2f, 0.3f}, {0, 1, 2}, 0, true};
  expect(c, false, "rows of a");
  c = {};
  c.b_dims = {2, 5, 4};
  c.b = {kI8, {0.01f, 0.02f, 0.003f, 0.004f}, {0, 1, -2, 0}, 2, true};
  expect(c, false, "several matrices");
}

TEST(RaiseQuantizedMatMul, ReluWhereTheLowestByteStandsForZero) {
  MatMulCase c;
  c.clamp = "Relu";
  expect(c, false);
  c.y.zeros = {0};
  expect(c, true);
}

TEST(RaiseQuantizedMatMul, NotOfFloatsAndNotWhenSumsMayOverflow) {
  const MatMulCase c;
  GraphBuilder g;
  const ValueId left = dequantize(g, MatMulCase::input(g, "a", c.a_dims, c.a.type), c.a);
  g.output(quantize(g, g.op("MatMul", {left, g.constant(some_floats(c.b_dims))}), c.y));
  EXPECT_EQ(transformed(g, "quantized_matmul", c.inputs()).changes, 0u);
  MatMulCase deep;
  deep.a_dims = {1, 66000};
  deep.b_dims = {66000, 1};
  deep.a.zeros = {0};
  deep.b.type = kU8;
  expect(deep, false);
}

TEST(RaiseQuantizedMatMul, NotWhenTheProductIsAnOutput) {
  const MatMulCase c;
  GraphBuilder g;
  const ValueId product = c.product(g);
  g.output(product);
  g.output(quantize(g, product, c.y));
  EXPECT_EQ(transformed(g, "quantized_matmul", c.inputs()).changes, 0u);
}

TEST(RaiseQuantizedMatMul, PutBackGivesTheSameGraph) {
  MatMulCase c;
  c.y.zeros = {0};
  c.clamp = "Relu";
  GraphBuilder g;
  c.build(g);
  expect_same_graph_put_back(g, 1);
}

}  // namespace
}  // namespace tenon::testing
