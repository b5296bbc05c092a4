#include "kernels/common/broadcast.h"
#include "kernels/common/cast.h"
#include "kernels/common/matmul_shape.h"

namespace tenon::cpu {
namespace {

// y = (a - a_zero_point) * (b - b_zero_point) in int32. Zero points: one, one per row of a, or one per column
// of b; with more dims a set per matrix.
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
    const int16_t* a = centred(ctx, 0, s.m, s.k, true);
    const int16_t* b = centred(ctx, 1, s.k, s.n, false);
    auto* y = ctx.output(0).data<int32_t>();
    const int64_t grain = std::max<int64_t>(1, kGrainFlops / std::max<int64_t>(1, s.n * s.k));
    ctx.parallel_for(s.count() * s.m, grain, [&, k = s.k, n = s.n](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        ctx.check_cancelled();
        const auto product = static_cast<size_t>(row / s.m);
        multiply_row(a + s.left[product] + row % s.m * k, b + s.right[product], k, n, y + row * n);
      }
    });
  }

 private:
  // out[n] = left[k] * right[k, n], modulo 2^32. Takes four rows of `right` at a time to access `out` less
  // often.
  static void multiply_row(const int16_t* left, const int16_t* right, int64_t k, int64_t n, int32_t* out) {
    const auto add = [](int32_t sum, int32_t term) {
      return static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(term));
    };
    std::fill_n(out, n, 0);
    int64_t t = 0;
    for (; t + 4 <= k; t += 4, right += 4 * n) {
      const int16_t f0 = left[t], f1 = left[t + 1], f2 = left[t + 2], f3 = left[t + 3];
      for (int64_t j = 0; j < n; ++j)
        out[j] =
            add(out[j], f0 * right[j] + f1 * right[n + j] + f2 * right[2 * n + j] + f3 * right[3 * n + j]);
    }
    for (; t < k; ++t, right += n)
      for (int64_t j = 0; j < n; ++j) out[j] = add(out[j], left[t] * right[j]);
  }

  // A zero point is one number, one per row or column, or one per row or column of each matrix.
  static void check_zero_point(PrepareContext& p, int i, int64_t rows, int64_t columns, bool by_row) {
    if (!p.has_input(i + 2)) return;
    const int64_t zeros = p.input(i + 2).size(), line = by_row ? rows : columns, n = p.input(i).size();
    require(zeros == 1 || zeros == line || (n > 0 && zeros == line * (n / rows / columns)),
            TENON_INVALID_ARGUMENT, "a zero point of shape ", p.input(i + 2).dims(), " for matrices of ",
            rows, " by ", columns);
  }

  // The matrices of input `i` minus the zero point: 9 bits, so a sum of four products fits int32.
  static const int16_t* centred(const Context& ctx, int i, int64_t rows, int64_t columns, bool by_row) {
    const TensorView x = ctx.input(i), zero = ctx.input(i + 2);
    const int64_t n = x.size(), plane = rows * columns;
    auto* out = ctx.scratch<int16_t>(n);
    if (n == 0) return out;
    cast_elements(x.dtype(), x.bytes(), TENON_INT16, out, 0, n, {});
    if (!zero.present()) return out;
    const int64_t zeros = zero.size(), line = by_row ? rows : columns;
    auto* points = ctx.scratch<int16_t>(zeros);
    cast_elements(zero.dtype(), zero.bytes(), TENON_INT16, points, 0, zeros, {});
    ctx.parallel_for(n, kGrainCheap, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        const int64_t within = by_row ? e / columns % rows : e % columns;
        const int16_t point = points[zeros == 1 ? 0 : zeros == line ? within : e / plane * line + within];
        out[e] = static_cast<int16_t>(out[e] - point);
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
