#include "kernels/common/convert.h"
#include "kernels/common/gemm.h"
#include "kernels/common/matmul_shape.h"

namespace tenon::cpu {
namespace {

struct MatMul {
  using State = MatMulShape;
  static constexpr auto kTypes = kNumericTypes;

  static Support supports(const NodeView& n) { return Check(n).input(0, kTypes).input(1, kTypes); }

  State prepare(PrepareContext& p) const { return matmul_shape(p, true); }

  void run(const Context& ctx, const State& s) const {
    const TensorView a = ctx.input(0), b = ctx.input(1);
    const OutputTensor y = ctx.output(0);
    if (y.size() == 0) return;
    dispatch(kTypes, a.dtype(), [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) {
        multiply(ctx, s, a.data<T>(), b.data<T>(), y.data<T>());
      } else if constexpr (kIsFloat<T>) {
        auto* product = ctx.scratch<float>(y.size());
        multiply(ctx, s, as_float<T>(ctx, a), as_float<T>(ctx, b), product);
        store_float<T>(ctx, product, y);
      } else {
        multiply_integers(ctx, s, a.data<T>(), b.data<T>(), y.data<T>());
      }
    });
  }

 private:
  template <class T>
  static void multiply(const Context& ctx, const State& s, const T* a, const T* b, T* y) {
    gemm_batch<T>(ctx, s.count(), [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      return isa::Gemm<T>{
          s.m, s.n,  s.k, a + s.left[at], s.k, false, b + s.right[at], s.n, false, y + i * s.m * s.n,
          s.n, false};
    });
  }

  // Integers wrap around, so the sums are unsigned.
  template <class T>
  static void multiply_integers(const Context& ctx, const State& s, const T* a, const T* b, T* y) {
    const int64_t rows = s.count() * s.m;
    ctx.parallel_for(rows, std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, s.n * s.k)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t row = begin; row < end; ++row) {
                         ctx.check_cancelled();
                         const T* left = a + s.left[static_cast<size_t>(row / s.m)] + row % s.m * s.k;
                         const T* right = b + s.right[static_cast<size_t>(row / s.m)];
                         for (int64_t j = 0; j < s.n; ++j) {
                           uint64_t sum = 0;
                           for (int64_t i = 0; i < s.k; ++i)
                             sum +=
                                 static_cast<uint64_t>(left[i]) * static_cast<uint64_t>(right[i * s.n + j]);
                           y[row * s.n + j] = static_cast<T>(sum);
                         }
                       }
                     });
  }
};
TENON_KERNEL(MatMul, .op_type = "MatMul", .contract = "A: [K] | [L..., M, K]; B: [K] | [R..., K, N]")

}  // namespace
}  // namespace tenon::cpu
