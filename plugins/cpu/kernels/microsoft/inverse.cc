#include <cmath>

#include "kernels/common/scratch.h"

namespace tenon::cpu {
namespace {

/// Gauss-Jordan elimination, with the largest element of the column as pivot. Overwrites `a`. A singular
/// matrix gives infinities and NaN.
void invert(std::span<double> a, std::span<double> out, int64_t n) {
  const auto row = [n](std::span<double> of, int64_t r) {
    return of.subspan(static_cast<size_t>(r * n), static_cast<size_t>(n));
  };
  std::fill(out.begin(), out.end(), 0.0);
  for (int64_t r = 0; r < n; ++r) out[static_cast<size_t>(r * n + r)] = 1;
  for (int64_t c = 0; c < n; ++c) {
    const auto column = static_cast<size_t>(c);
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r) {
      if (std::fabs(row(a, r)[column]) > std::fabs(row(a, pivot)[column])) pivot = r;
    }
    if (pivot != c) {
      std::swap_ranges(row(a, c).begin(), row(a, c).end(), row(a, pivot).begin());
      std::swap_ranges(row(out, c).begin(), row(out, c).end(), row(out, pivot).begin());
    }
    const double scale = 1 / row(a, c)[column];
    for (double& value : row(a, c)) value *= scale;
    for (double& value : row(out, c)) value *= scale;
    for (int64_t r = 0; r < n; ++r) {
      const double factor = row(a, r)[column];
      if (r == c || factor == 0) continue;
      for (size_t k = 0; k < static_cast<size_t>(n); ++k) {
        row(a, r)[k] -= factor * row(a, c)[k];
        row(out, r)[k] -= factor * row(out, c)[k];
      }
    }
  }
}

// The inverse of each matrix of a batch, computed in double.
struct Inverse {
  static Support supports(const NodeView& n) { return Check(n).needs_input(0).input(0, kFloatTypes); }
  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    if (x.size() == 0) return;
    const int64_t n = x.dims().back(), elements = n * n;
    const WorkerLists<double> from(ctx, elements), to(ctx, elements);
    dispatch(kFloatTypes, x.dtype(), [&]<class T>() {
      const T* in = x.data<T>();
      T* out = ctx.output(0).data<T>();
      const int64_t grain = std::max<int64_t>(1, kGrainCostly / (elements * n));
      ctx.parallel_for(x.size() / elements, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
        const std::span<double> matrix = from.of(worker), inverse = to.of(worker);
        for (int64_t i = begin * elements; i < end * elements; i += elements) {
          ctx.check_cancelled();
          for (int64_t e = 0; e < elements; ++e)
            matrix[static_cast<size_t>(e)] = static_cast<double>(in[i + e]);
          invert(matrix, inverse, n);
          for (int64_t e = 0; e < elements; ++e) out[i + e] = static_cast<T>(inverse[static_cast<size_t>(e)]);
        }
      });
    });
  }
};
TENON_KERNEL(Inverse, .domain = "com.microsoft", .op_type = "Inverse", .contract = "X: [B..., N, N]")

}  // namespace
}  // namespace tenon::cpu
