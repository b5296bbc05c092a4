#include "tests/unit/core/transform/raise/quantized_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::ValueId;
using Dims = std::vector<int64_t>;

constexpr ir::ElementType kF32 = ir::ElementType::kFloat32;

/// A dynamically quantised product as quantize_dynamic of ONNX Runtime writes it.
struct DynamicCase {
  std::vector<ir::Dim> x_dims = {ir::Dim{3}, ir::Dim{5}};
  Dims fed = {3, 5}, b_dims = {5, 4};
  ir::ElementType b_type = kI8, to = kF32;
  Dims scale_dims = {}, zero_dims = {}, bias_dims = {4};
  bool has_a_zero = true, has_b_zero = true, has_bias = true, is_turned = false, is_constant = true;
  size_t shown =
      0;  // which values in the middle are outputs: bits for the sums, their floats, the scaled sums

  std::vector<Array> inputs() const {
    std::vector<Array> out = {some(fed)};
    if (!is_constant) out.push_back(some_bytes(b_dims, b_type, 3));
    return out;
  }
  std::vector<ValueId> quantized(GraphBuilder& g) const {
    return g.ops("DynamicQuantizeLinear", {g.input("x", type_of(kF32, x_dims))}, 3);
  }
  ValueId binary(GraphBuilder& g, const std::string& op, ValueId a, ValueId b) const {
    return g.op(op, is_turned ? std::vector{b, a} : std::vector{a, b});
  }
  ValueId floats_of(GraphBuilder& g, Dims dims, uint32_t seed) const {
    Array out = some(std::move(dims), seed);
    for (double& value : out.values) value = 0.01 + std::fabs(value) / 50;
    return g.constant(tensor_of(out, to));
  }
  ValueId scale(GraphBuilder& g, ValueId a_scale) const {
    if (to != kF32) a_scale = g.op("Cast", {a_scale}, {Attribute::of_int("to", static_cast<int64_t>(to))});
    return binary(g, "Mul", a_scale, floats_of(g, scale_dims, 11));
  }
  /// The product of what quantized() gave, with the result of scale().
  ValueId product(GraphBuilder& g, const std::vector<ValueId>& a, ValueId scale) const {
    const ValueId b = is_constant ? g.constant(tensor_of(some_bytes(b_dims, b_type, 3), b_type))
                                  : g.input("b", type_of(b_type, {b_dims.begin(), b_dims.end()}));
    std::vector<ValueId> in = {a[0], b, has_a_zero ? a[2] : ir::kNone};
    if (has_b_zero) in.push_back(g.constant(tensor_of(some_integers(zero_dims, 0, 9, 4), b_type)));
    const ValueId sums = g.op("MatMulInteger", in);
    const ValueId real = g.op("Cast", {sums}, {Attribute::of_int("to", static_cast<int64_t>(to))});
    const ValueId scaled = binary(g, "Mul", real, scale);
    const ValueId middle[] = {sums, real, scaled};
    for (size_t i = 0; i < 3; ++i) {
      if ((shown >> i & 1) != 0) g.output(middle[i]);
    }
    return has_bias ? binary(g, "Add", scaled, floats_of(g, bias_dims, 5)) : scaled;
  }
  void build(GraphBuilder& g) const {
    const std::vector<ValueId> a = quantized(g);
    g.output(product(g, a, scale(g, a[1])));
  }
};

/// `nodes`: of the graph, with the DynamicQuantizeLinear.
void expect(const DynamicCase& c, size_t nodes, const std::string& text = {}) {
  SCOPED_TRACE(text);
  GraphBuilder g;
  c.build(g);
  const auto result = transformed(g, "matmul_integer_to_float", c.inputs());
  EXPECT_EQ(result.count("MatMulIntegerToFloat"), 1u);
  EXPECT_EQ(result.nodes(), nodes) << ir::to_text(result.model.graph);
}
void expect_unchanged(const DynamicCase& c, const std::string& text = {}) {
  SCOPED_TRACE(text);
  GraphBuilder g;
  c.build(g);
  EXPECT_EQ(transformed(g, "matmul_integer_to_float", c.inputs()).changes, 0u);
}

TEST(RaiseMatMulIntegerToFloat, EveryFormOfTheInputs) {
  for (const auto b_type : {kI8, kU8}) {
    for (const Dims& per : {Dims{}, Dims{1}, Dims{4}}) {
      for (const int form : {0, 1, 2, 3, 4, 5, 6, 7}) {
        for (const bool is_turned : {false, true}) {
          DynamicCase c;
          c.b_type = b_type;
          c.scale_dims = c.zero_dims = per;
          c.has_a_zero = (form & 1) == 0;
          c.has_b_zero = (form & 2) == 0;
          c.has_bias = (form & 4) == 0;
          c.is_turned = is_turned;
          expect(c, 2, ::testing::PrintToString(per) + std::to_string(form));
        }
      }
    }
  }
}

TEST(RaiseMatMulIntegerToFloat, BatchesAndWeightsThatAreNotConstant) {
  DynamicCase c;
  c.fed = {2, 3, 5};
  c.x_dims = {ir::Dim{"batch"}, ir::Dim{"length"}, ir::Dim{5}};
  expect(c, 2, "dimensions that are not known");
  c.is_constant = false;
  expect(c, 2, "weights of a Run");
  c.b_dims = {2, 5, 4};
  expect(c, 2, "matrices");
}

TEST(RaiseMatMulIntegerToFloat, OneColumn) {
  DynamicCase c;
  c.b_dims = {5, 1};
  c.scale_dims = c.zero_dims = c.bias_dims = {1};
  expect(c, 2);
}

TEST(RaiseMatMulIntegerToFloat, ABiasOfAnotherShapeStays) {
  for (const Dims& dims : {Dims{}, Dims{1}, Dims{1, 4}, Dims{3, 4}, Dims{2, 1, 1}}) {
    DynamicCase c;
    c.bias_dims = dims;
    expect(c, 3, ::testing::PrintToString(dims));
  }
  DynamicCase c;
  c.shown = 4;
  expect(c, 3, "the scaled sums are an output");
}

TEST(RaiseMatMulIntegerToFloat, NotWhenTheSumsAreRead) {
  for (const size_t shown : {1, 2}) {
    DynamicCase c;
    c.shown = shown;
    expect_unchanged(c, std::to_string(shown));
  }
}

TEST(RaiseMatMulIntegerToFloat, NotWithOtherScales) {
  DynamicCase c;
  c.has_bias = false;
  for (const Dims& dims : {Dims{1, 1}, Dims{1, 4}, Dims{3, 1}, Dims{2, 1, 1}}) {
    c.scale_dims = dims;
    expect_unchanged(c, ::testing::PrintToString(dims));
  }
  c.scale_dims = {};
  c.to = ir::ElementType::kFloat16;
  expect_unchanged(c, "float16");
  c.to = ir::ElementType::kFloat64;
  expect_unchanged(c, "float64");

  // Another operator gives scales of rows.
  GraphBuilder g;
  c.to = kF32;
  const std::vector<ValueId> a = c.quantized(g);
  g.output(c.product(g, a, c.scale(g, g.op("Abs", {g.input("scale", f32({3, 1}))}))));
  std::vector<Array> inputs = c.inputs();
  inputs.push_back({{3, 1}, {0.5, 0.25, 2}});
  EXPECT_EQ(transformed(g, "matmul_integer_to_float", inputs).changes, 0u);
}

TEST(RaiseMatMulIntegerToFloat, NotWithZeroPointsOfRows) {
  const DynamicCase c;
  GraphBuilder g;
  std::vector<ValueId> a = c.quantized(g);
  const ValueId scale = c.scale(g, a[1]);
  a[2] = g.constant(integers(kU8, {3}, {1, 2, 3}));
  g.output(c.product(g, a, scale));
  EXPECT_EQ(transformed(g, "matmul_integer_to_float", c.inputs()).changes, 0u);
}

/// What a product by a vector gives has no columns: several scales would belong to its rows.
TEST(RaiseMatMulIntegerToFloat, Vectors) {
  struct Case {
    std::vector<ir::Dim> x_dims;
    Dims b_dims, scale_dims;
    bool has_bias, raised;
  };
  const Case cases[] = {{{5}, {5, 4}, {1}, true, true},
                        {{5}, {5, 4}, {4}, false, true},
                        {{5}, {5}, {1}, false, false},
                        {{5, 5}, {5}, {5}, false, false}};
  for (const Case& each : cases) {
    DynamicCase c;
    c.x_dims = each.x_dims;
    c.b_dims = each.b_dims;
    c.scale_dims = each.scale_dims;
    c.has_bias = each.has_bias;
    GraphBuilder g;
    c.build(g);
    ir::Model model;
    model.graph = g.done();
    model.opset_imports = g.imports();
    ASSERT_TRUE(transform::run_pipeline(model.graph, model, only("matmul_integer_to_float")).ok());
    EXPECT_EQ(model.graph.node_count(), each.raised ? 2u : 5u) << ir::to_text(model.graph);
  }
}

/// Several products share a product of scales, as after merging equal ones.
TEST(RaiseMatMulIntegerToFloat, ProductsThatShareTheirScale) {
  DynamicCase c;
  GraphBuilder g;
  const std::vector<ValueId> a = c.quantized(g);
  const ValueId scale = c.scale(g, a[1]);
  g.output(c.product(g, a, scale));
  g.output(c.product(g, a, scale));
  g.output(g.op("Neg", {scale}));
  const auto result = transformed(g, "matmul_integer_to_float", c.inputs());
  EXPECT_EQ(result.count("MatMulIntegerToFloat"), 2u);
  EXPECT_EQ(result.nodes(), 5u) << "with DynamicQuantizeLinear, Mul of scales and Neg";
}

TEST(RaiseMatMulIntegerToFloat, PutBackGivesTheSameGraph) {
  for (const bool has_bias : {false, true}) {
    for (const bool has_zeros : {false, true}) {
      DynamicCase c;
      c.has_bias = has_bias;
      c.has_a_zero = c.has_b_zero = has_zeros;
      GraphBuilder g;
      const std::vector<ValueId> a = c.quantized(g);
      const ValueId scale = c.scale(g, a[1]);
      g.output(c.product(g, a, scale));
      c.b_type = kU8;
      g.output(c.product(g, a, scale));
      expect_same_graph_put_back(g, 2);
    }
  }
}

}  // namespace
}  // namespace tenon::testing
