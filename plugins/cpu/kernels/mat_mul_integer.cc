#include "kernels/common/broadcast.h"
#include "kernels/common/cast.h"
#include "kernels/common/matmul_shape.h"

namespace tenon::cpu {
namespace {

// y = (a - a_zero_point) * (b - b_zero_point) in int32. A zero point is one number, one per row of a, or one
// per column of b; of more dims it belongs to the batches.
struct MatMulInteger {
  using State = MatMulShape;
  static constexpr TypeList<int8_t, uint8_t> kTypes{};

  static Support supports(const NodeView& n) { return Check(n).inputs(0, kTypes); }
  State prepare(PrepareContext& p) const {
    State s = matmul_shape(p, false);
    check_zero_point(p, 0, s.m, s.k, true);
    check_zero_point(p, 1, s.k, s.n, false);
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    if (ctx.output(0).size() == 0) return;
    const int32_t* a = centred(ctx, 0, s.m, s.k, true);
    const int32_t* b = centred(ctx, 1, s.k, s.n, false);
    auto* y = ctx.output(0).data<int32_t>();
    const int64_t grain = std::max<int64_t>(1, kGrainFlops / std::max<int64_t>(1, s.n * s.k));
    ctx.parallel_for(s.count() * s.m, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        ctx.check_cancelled();
        const auto product = static_cast<size_t>(row / s.m);
        const int32_t* left = a + s.left[product] + row % s.m * s.k;
        int32_t* out = y + row * s.n;
        std::fill_n(out, s.n, 0);
        for (int64_t t = 0; t < s.k; ++t) {
          const int32_t factor = left[t];
          const int32_t* right = b + s.right[product] + t * s.n;
          for (int64_t j = 0; j < s.n; ++j) out[j] += factor * right[j];
        }
      }
    });
  }

 private:
  // One number, one per row or column of a matrix, or one per row or column of each matrix.
  static void check_zero_point(PrepareContext& p, int i, int64_t rows, int64_t columns, bool by_row) {
    if (!p.has_input(i + 2)) return;
    const int64_t zeros = p.input(i + 2).size(), line = by_row ? rows : columns, n = p.input(i).size();
    require(zeros == 1 || zeros == line || (n > 0 && zeros == line * (n / rows / columns)),
            TENON_INVALID_ARGUMENT, "a zero point of shape ", p.input(i + 2).dims(), " for matrices of ",
            rows, " by ", columns);
  }

  // The matrices of input `i` as int32 with the zero point taken off.
  static const int32_t* centred(const Context& ctx, int i, int64_t rows, int64_t columns, bool by_row) {
    const TensorView x = ctx.input(i), zero = ctx.input(i + 2);
    const int64_t n = x.size(), plane = rows * columns;
    auto* out = ctx.scratch<int32_t>(n);
    if (n == 0) return out;
    cast_elements(x.dtype(), x.bytes(), TENON_INT32, out, 0, n, {});
    if (!zero.present()) return out;
    const int64_t zeros = zero.size(), line = by_row ? rows : columns;
    auto* points = ctx.scratch<int32_t>(zeros);
    cast_elements(zero.dtype(), zero.bytes(), TENON_INT32, points, 0, zeros, {});
    ctx.parallel_for(n, kGrainCheap, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        const int64_t within = by_row ? e / columns % rows : e % columns;
        out[e] -= points[zeros == 1 ? 0 : zeros == line ? within : e / plane * line + within];
      }
    });
    return out;
  }
};
TENON_KERNEL(MatMulInteger, .op_type = "MatMulInteger",
             .contract =
                 "A: [K] | [L..., M, K]; B: [K] | [R..., K, N]; a_zero_point?: one | [M] | [L..., M, 1]; "
                 "b_zero_point?: one | [N] | [R..., 1, N]")

}  // namespace
}  // namespace tenon::cpu
