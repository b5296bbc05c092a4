// Normalisations: BatchNormalization, those over a line of elements (Layer, Instance, Group, RMS,
// MeanVariance, Lp), and LRN.
#include "tenon/ep/device/ops/normalization.hpp"

#include "kernels/common/rows.h"
#include "kernels/common/single.h"
#include "kernels/common/texts.h"

namespace tenon::cuda {
namespace {

// As tenon/ep/device/ops/normalization.hpp describes them. A line is read once for the mean, once for the variance around
// it, and once for the result: the last two find it in the cache.
constexpr std::string_view kText = R"CU(
#if OP == 0
// y may be x.
KERNEL Batch(const T* x, IN(S, scale), IN(S, bias), IN(P, mean), IN(P, variance), T* y, int n, int channels,
             int inner, float epsilon) {
  EACH(i, n) {
    const int c = (int)i / inner % channels;
    const C factor = (C)scale[c] / sqrt((C)variance[c] + (C)epsilon);
    y[i] = ((C)x[i] - (C)mean[c]) * factor + (C)bias[c];
  }
}
#elif OP < 3
struct Moments {
  C mean, inverse;
};
__device__ inline Moments moments_of(const T* x, int count, float epsilon, int keeps_mean) {
  C mean = 0, square = 0;
  if (!keeps_mean) {
    visit_line(x, 1, count, [&](int, C v) { mean += v; });
    mean = sum_of_row(mean) / (C)count;
  }
  visit_line(x, 1, count, [&](int, C v) { square += (v - mean) * (v - mean); });
  const C inverse = 1 / sqrt(sum_of_row(square) / (C)count + (C)epsilon);
  return {mean, inverse};
}
#if OP == 1
// Scale and bias have the index (line % modulo) * (count / spread) + position / spread.
KERNEL Lines(IN(T, x), IN(S, scale), IN(S, bias), OUT(T, y), OUT(P, out_mean), OUT(P, out_inverse), int lines,
             int count, float epsilon, int keeps_mean, int has_scale, int has_bias, int modulo, int spread,
             int has_mean, int has_inverse) {
  EACH_ROW(line, lines, row, 1) {
    const T* from = x + line * count;
    T* to = y + line * count;
    const Moments m = moments_of(from, count, epsilon, keeps_mean);
    const int base = (int)line % modulo * (count / spread);
    map_line(from, to, 1, count, [=](int k, C v) {
      const int c = base + (spread == 1 ? k : k / spread);
      C out = (v - m.mean) * m.inverse;
      if (has_scale) out *= (C)scale[c];
      if (has_bias) out += (C)bias[c];
      return out;
    });
    if (IS_FIRST && has_mean) out_mean[line] = m.mean;
    if (IS_FIRST && has_inverse) out_inverse[line] = m.inverse;
  }
}
#else
// The walk over x gives the places of scale and bias.
KERNEL LinesAt(IN(T, x), IN(S, scale), IN(S, bias), OUT(T, y), OUT(P, out_mean), OUT(P, out_inverse), Walk w,
               int lines, int count, float epsilon, int keeps_mean, int has_scale, int has_bias, int has_mean,
               int has_inverse) {
  EACH_ROW(line, lines, row, 1) {
    const T* from = x + line * count;
    T* to = y + line * count;
    const Moments m = moments_of(from, count, epsilon, keeps_mean);
    map_line(from, to, 1, count, [&](int k, C v) {
      WALK2(w, line * count + k, s, b)
      C out = (v - m.mean) * m.inverse;
      if (has_scale) out *= (C)scale[s];
      if (has_bias) out += (C)bias[b];
      return out;
    });
    if (IS_FIRST && has_mean) out_mean[line] = m.mean;
    if (IS_FIRST && has_inverse) out_inverse[line] = m.inverse;
  }
}
#endif
#elif OP == 3
KERNEL LpNorm(IN(T, x), OUT(T, y), int outer, int count, int inner, int p) {
  EACH_ROW(i, inner, row, outer) {
    const int64 first = row * count * inner + i;
    const T* from = x + first;
    C sum = 0;
    visit_line(from, inner, count, [&](int, C v) { sum += p == 1 ? fabs(v) : v * v; });
    sum = sum_of_row(sum);
    const C norm = p == 1 ? sum : sqrt(sum);
    map_line(from, y + first, inner, count, [=](int, C v) { return norm == 0 ? (C)0 : v / norm; });
  }
}
#else
KERNEL Lrn(IN(T, x), OUT(T, y), int inner, int channels, int outer, int size, float alpha, float beta, float bias) {
  EACH_Y(row, outer) {
    const int c = (int)row % channels;
    const int begin = max(0, c - (size - 1) / 2), end = min((int64)channels - 1, (int64)c + size / 2);
    EACH(i, inner) {
      C sum = 0;
      for (int k = begin; k <= end; ++k) {
        const C v = x[(row + k - c) * inner + i];
        sum += v * v;
      }
      y[row * inner + i] = (C)x[row * inner + i] / pow((C)bias + (C)alpha / (C)size * sum, (C)beta);
    }
  }
}
#endif
)CU";
constexpr Source kSource{"normalization", kJoined<kRowForms, kText>};

/// By OP.
constexpr std::string_view kNames[] = {"Batch", "Lines", "LinesAt", "LpNorm", "Lrn"};
using Kernels = SingleKernel<Backend<kSource>, kNames>;
using DenseKernels = SingleKernel<RowBackend<kSource, DenseLines>, kNames>;
using LineKernels = SingleKernel<RowBackend<kSource, Lines>, kNames>;

TENON_KERNEL(ops::BatchNormalization<Kernels>, .op_type = "BatchNormalization", .since = 7,
             .contract = "X: [N, C, D...] | [N]; scale: [C]; B: [C]; mean: [C]; var: [C]")
TENON_KERNEL(ops::LayerNorm<DenseKernels>, .op_type = "LayerNormalization", .since = 1,
             .contract = "X: rank 1..; Scale: ~ X; B?: ~ X")
TENON_KERNEL(ops::LayerNorm<DenseKernels>, .op_type = "RMSNormalization", .since = 23,
             .contract = "X: rank 1..; scale: ~ X")
TENON_KERNEL(ops::InstanceNorm<DenseKernels>, .op_type = "InstanceNormalization", .since = 6,
             .contract = "input: [N, C, D...] & rank 3..; scale: [C]; B: [C]")
TENON_KERNEL(ops::GroupNorm<DenseKernels>, .op_type = "GroupNormalization", .since = 21,
             .contract = "X: [N, C, D...]; scale: [C]; bias: [C]")
TENON_KERNEL(ops::LpNormalization<LineKernels>, .op_type = "LpNormalization", .since = 1,
             .contract = "input: rank 1..")
TENON_KERNEL(ops::Lrn<Kernels>, .op_type = "LRN", .since = 1, .contract = "X: [N, C, D...]")

}  // namespace
}  // namespace tenon::cuda
