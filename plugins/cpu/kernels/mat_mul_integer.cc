#include "kernels/common/integer_product.h"

namespace tenon::cpu {
namespace {

// y = (a - a_zero_point) * (b - b_zero_point) in int32. Zero points: one, one per row of a, or one per column
// of b; with more dims a set per matrix.
class MatMulInteger {
 public:
  using State = MatMulShape;

  static Support supports(const NodeView& n) { return Check(n).inputs(0, kByteTypes); }
  explicit MatMulInteger(const NodeView& n) : weights_(n, 1) {}

  State prepare(PrepareContext& p) const {
    State s = matmul_shape(p, false);
    check_lines(p, 2, s.m, p.input(0).dims());
    check_lines(p, 3, s.n, p.input(1).dims());
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    if (ctx.output(0).size() == 0) return;
    auto* y = ctx.output(0).data<int32_t>();
    const IntegerProducts products(ctx, s, ctx.input(0), ctx.input(2), ctx.input(1), ctx.input(3),
                                   weights_.get());
    products.run([y, n = s.n](const ProductPart& part, const int32_t* sums) {
      isa_integer().add(sums, part.constants, part.count, y + part.row * n + part.column);
    });
  }

 private:
  ConstantFactors weights_;
};
TENON_KERNEL(MatMulInteger, .op_type = "MatMulInteger",
             .contract =
                 "A: [K] | [L..., M, K]; B: [K] | [R..., K, N]; a_zero_point?: one | [M] | [L..., M, 1]; "
                 "b_zero_point?: one | [N] | [R..., 1, N]")

}  // namespace
}  // namespace tenon::cpu
