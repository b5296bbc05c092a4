#include <cmath>

#include "kernels/common/scratch.h"

namespace tenon::cpu {
namespace {

// Gaussian elimination in double, with the largest element of the column as pivot. Overwrites the matrix.
double determinant(const Context& ctx, std::span<double> a, int64_t n) {
  double result = 1;
  const auto at = [&](int64_t row, int64_t column) -> double& {
    return a[static_cast<size_t>(row * n + column)];
  };
  for (int64_t c = 0; c < n; ++c) {
    ctx.check_cancelled();
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r) {
      if (std::fabs(at(r, c)) > std::fabs(at(pivot, c))) pivot = r;
    }
    if (at(pivot, c) == 0) return 0;
    if (pivot != c) {
      for (int64_t k = c; k < n; ++k) std::swap(at(c, k), at(pivot, k));
      result = -result;
    }
    result *= at(c, c);
    for (int64_t r = c + 1; r < n; ++r) {
      const double factor = at(r, c) / at(c, c);
      for (int64_t k = c + 1; k < n; ++k) at(r, k) -= factor * at(c, k);
    }
  }
  return result;
}

struct Det {
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).rank(0, 2); }

  void prepare(PrepareContext& p) const {
    const DimsView dims = p.input(0).dims();
    p.set_output(0, dims.first(dims.size() - 2));
  }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    const int64_t n = x.dims().back(), count = ctx.output(0).size();
    const WorkerLists<double> matrices(ctx, n * n);
    dispatch(kFloatTypes, x.dtype(), [&]<class T>() {
      ctx.parallel_for(count, std::max<int64_t>(1, kGrainCostly / std::max<int64_t>(1, n * n)),
                       [&](uint32_t worker, int64_t begin, int64_t end) {
                         const std::span<double> matrix = matrices.of(worker);
                         for (int64_t i = begin; i < end; ++i) {
                           for (int64_t e = 0; e < n * n; ++e)
                             matrix[static_cast<size_t>(e)] = static_cast<double>(x.data<T>()[i * n * n + e]);
                           ctx.output(0).data<T>()[i] = static_cast<T>(determinant(ctx, matrix, n));
                         }
                       });
    });
  }
};
TENON_KERNEL(Det, .op_type = "Det", .contract = "X: [B..., N, N]")

}  // namespace
}  // namespace tenon::cpu
