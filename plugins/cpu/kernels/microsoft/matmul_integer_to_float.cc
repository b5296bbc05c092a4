// Products of integers that give floats. The host lowers the forms that are refused here.
#include "kernels/common/dynamic_quantize.h"
#include "kernels/common/integer_product.h"

namespace tenon::cpu {
namespace {

bool has_one(const ValueView& v) {
  if (!v.has_rank()) return false;
  for (int d = 0; d < v.rank(); ++d) {
    if (v.dim(d) != 1) return false;
  }
  return true;
}
/// One element, or one per column of matrices.
bool is_per_column(const ValueView& v) {
  return has_one(v) || (v.has_rank() && v.rank() == 1 && v.dim(0) != 0);
}
/// One number for each column of B.
bool is_bias(const ValueView& bias, const ValueView& b) {
  if (!bias.has_rank() || bias.rank() != 1) return false;
  const bool has_one_column = b.has_rank() && b.rank() > 1 && b.dim(b.rank() - 1) == 1;
  return bias.dim(0) != 1 || has_one_column;
}

Check check_right(Check check, const NodeView& n, int scale, int zero, int bias) {
  return check.input(scale, TypeList<float>())
      .that(is_per_column(n.input(scale)) && (!n.has_input(zero) || is_per_column(n.input(zero))),
            TENON_REJECT_OTHER, "scales and zero points of B must be one number, or one per column")
      .that(!n.has_input(zero) || n.input(zero).dtype() == n.input(1).dtype(), TENON_REJECT_TYPE,
            "the zero point of B has another type than B")
      .that(!n.has_input(bias) || is_bias(n.input(bias), n.input(1)), TENON_REJECT_OTHER,
            "the bias must have one number per column");
}

/// y = sums * left_scale * b_scale + bias.
void multiply(const Context& ctx, const IntegerProducts& products, int64_t n, float left_scale,
              TensorView b_scale, TensorView bias) {
  const std::span<float> scales = scratch_list<float>(ctx, n);
  for (size_t j = 0; j < scales.size(); ++j)
    scales[j] = left_scale * b_scale.data<float>()[b_scale.size() == 1 ? 0 : j];
  const float* const shift = bias.present() ? bias.data<float>() : nullptr;
  float* const y = ctx.output(0).data<float>();
  products.run([&](const ProductPart& part, const int32_t* sums) {
    isa_integer().to_float(sums, part.constants, part.count, scales.data() + part.column,
                           shift == nullptr ? nullptr : shift + part.column, y + part.row * n + part.column);
  });
}

// Inputs: A, B, a_scale, b_scale, a_zero_point?, b_zero_point?, bias?
class MatMulIntegerToFloat {
 public:
  static Support supports(const NodeView& n) {
    return check_right(Check(n).input(0, kByteTypes).input(1, kByteTypes).input(2, TypeList<float>()), n, 3,
                       5, 6)
        .that(has_one(n.input(2)) && (!n.has_input(4) || has_one(n.input(4))), TENON_REJECT_OTHER,
              "the scale and the zero point of A must be one number")
        .that(!n.has_input(4) || n.input(4).dtype() == n.input(0).dtype(), TENON_REJECT_TYPE,
              "the zero point of A has another type than A");
  }
  explicit MatMulIntegerToFloat(const NodeView& n) : weights_(n, 1) {}

  using State = MatMulShape;
  State prepare(PrepareContext& p) const { return matmul_shape(p, false); }
  void run(const Context& ctx, const State& s) const {
    if (ctx.output(0).size() == 0) return;
    const IntegerProducts products(ctx, s, ctx.input(0), ctx.input(4), ctx.input(1), ctx.input(5),
                                   weights_.get());
    multiply(ctx, products, s.n, ctx.input(2).data<float>()[0], ctx.input(3), ctx.input(6));
  }

 private:
  ConstantFactors weights_;
};
TENON_KERNEL(
    MatMulIntegerToFloat, .domain = "com.microsoft", .op_type = "MatMulIntegerToFloat",
    .contract =
        "A: [K] | [L..., M, K]; B: [K] | [R..., K, N]; a_scale: one; b_scale: one | [N]; a_zero_point?: one; "
        "b_zero_point?: one | [N]; bias?: [N]")

// The same with A in floats, which is quantised first. Inputs: A, B, b_scale, b_zero_point?, bias?
class DynamicQuantizeMatMul {
 public:
  static Support supports(const NodeView& n) {
    return check_right(Check(n).input(0, TypeList<float>()).input(1, kByteTypes), n, 2, 3, 4);
  }
  explicit DynamicQuantizeMatMul(const NodeView& n) : weights_(n, 1) {}

  using State = MatMulShape;
  State prepare(PrepareContext& p) const { return matmul_shape(p, false); }
  void run(const Context& ctx, const State& s) const {
    if (ctx.output(0).size() == 0) return;
    const TensorView a = ctx.input(0);
    const DynamicScale by = dynamic_scale(ctx, a.data<float>(), a.size());
    const std::span<uint8_t> bytes = scratch_list<uint8_t>(ctx, a.size());
    quantize_bytes(ctx, a.data<float>(), a.size(), by, bytes.data());
    auto zero = static_cast<uint8_t>(by.zero);
    tenon_tensor quantized = *a.raw(), zero_point{};
    quantized.dtype = zero_point.dtype = TENON_UINT8;
    quantized.data = bytes.data();
    zero_point.kind = TENON_KIND_TENSOR;
    zero_point.data = &zero;
    const IntegerProducts products(ctx, s, TensorView(&quantized), TensorView(&zero_point), ctx.input(1),
                                   ctx.input(3), weights_.get());
    multiply(ctx, products, s.n, by.scale, ctx.input(2), ctx.input(4));
  }

 private:
  ConstantFactors weights_;
};
TENON_KERNEL(DynamicQuantizeMatMul, .domain = "com.microsoft", .op_type = "DynamicQuantizeMatMul",
             .contract =
                 "A: [K] | [L..., M, K]; B: [K] | [R..., K, N]; b_scale: one | [N]; b_zero_point?: one | "
                 "[N]; bias?: [N]")

}  // namespace
}  // namespace tenon::cpu
