// Normalisations: BatchNormalization, those over a line of elements (Layer, Instance, Group, RMS,
// MeanVariance, Lp), and LRN.
#include "tenon/ep/device/ops/normalization.hpp"

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// Lines: one work-item reads `count` elements from `line * count` on, twice. Scale and bias have the index
// (line / per) % modulo + position / spread, which is per channel or per position, as the operator needs.
constexpr Source kSource{"normalization", R"CL(
__kernel void Batch(IN(T, x), IN(S, scale), IN(S, bias), IN(P, mean), IN(P, variance), OUT(T, y), int n, int channels,
                    int inner, float epsilon) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int c = i / inner % channels;
  const C factor = (C)LOAD_S(PTR(scale), c) / sqrt((C)LOAD_P(PTR(variance), c) + (C)epsilon);
  STORE(PTR(y), i, (LOAD(PTR(x), i) - (C)LOAD_P(PTR(mean), c)) * factor + (C)LOAD_S(PTR(bias), c));
}
__kernel void Lines(IN(T, x), IN(S, scale), IN(S, bias), OUT(T, y), OUT(P, out_mean), OUT(P, out_inverse), int lines,
                    int count, float epsilon, int keeps_mean, int has_scale, int has_bias, int modulo, int spread,
                    int has_mean, int has_inverse) {
  const int line = get_global_id(0);
  if (line >= lines) return;
  __global const T* from = PTR(x) + (long)line * count;
  __global T* to = PTR(y) + (long)line * count;
  C mean = 0, square = 0;
  if (!keeps_mean) {
    for (int k = 0; k < count; ++k) mean += LOAD(from, k);
    mean /= count;
  }
  for (int k = 0; k < count; ++k) {
    const C v = LOAD(from, k) - mean;
    square += v * v;
  }
  const C inverse = 1 / sqrt(square / count + (C)epsilon);
  const int base = line % modulo * (count / spread);
  for (int k = 0; k < count; ++k) {
    const int c = base + k / spread;
    C v = (LOAD(from, k) - mean) * inverse;
    if (has_scale) v *= (C)LOAD_S(PTR(scale), c);
    if (has_bias) v += (C)LOAD_S(PTR(bias), c);
    STORE(to, k, v);
  }
  if (has_mean) STORE_P(PTR(out_mean), line, mean);
  if (has_inverse) STORE_P(PTR(out_inverse), line, inverse);
}
// Like Lines, with a scale and a bias that broadcast: the walk over x gives their places.
__kernel void LinesAt(IN(T, x), IN(S, scale), IN(S, bias), OUT(T, y), OUT(P, out_mean), OUT(P, out_inverse), Walk w,
                      int lines, int count, float epsilon, int keeps_mean, int has_scale, int has_bias, int has_mean,
                      int has_inverse) {
  const int line = get_global_id(0);
  if (line >= lines) return;
  __global const T* from = PTR(x) + (long)line * count;
  __global T* to = PTR(y) + (long)line * count;
  C mean = 0, square = 0;
  if (!keeps_mean) {
    for (int k = 0; k < count; ++k) mean += LOAD(from, k);
    mean /= count;
  }
  for (int k = 0; k < count; ++k) {
    const C v = LOAD(from, k) - mean;
    square += v * v;
  }
  const C inverse = 1 / sqrt(square / count + (C)epsilon);
  for (int k = 0; k < count; ++k) {
    WALK2(w, line * count + k, s, b)
    C v = (LOAD(from, k) - mean) * inverse;
    if (has_scale) v *= (C)LOAD_S(PTR(scale), s);
    if (has_bias) v += (C)LOAD_S(PTR(bias), b);
    STORE(to, k, v);
  }
  if (has_mean) STORE_P(PTR(out_mean), line, mean);
  if (has_inverse) STORE_P(PTR(out_inverse), line, inverse);
}
__kernel void LpNorm(IN(T, x), OUT(T, y), int outer, int count, int inner, int p) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= inner || row >= outer) return;
  const int from = row * count * inner + i;
  C sum = 0;
  for (int k = 0; k < count; ++k) {
    const C v = LOAD(PTR(x), from + k * inner);
    sum += p == 1 ? fabs(v) : v * v;
  }
  const C norm = p == 1 ? sum : sqrt(sum);
  for (int k = 0; k < count; ++k) {
    const C v = LOAD(PTR(x), from + k * inner);
    STORE(PTR(y), from + k * inner, norm == 0 ? (C)0 : v / norm);
  }
}
__kernel void Lrn(IN(T, x), OUT(T, y), int inner, int channels, int outer, int size, float alpha, float beta,
                  float bias) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= inner || row >= outer) return;
  const int c = row % channels;
  const int begin = max(0, c - (size - 1) / 2), end = min(channels - 1, c + size / 2);
  C sum = 0;
  for (int k = begin; k <= end; ++k) {
    const C v = LOAD(PTR(x), (row + k - c) * inner + i);
    sum += v * v;
  }
  STORE(PTR(y), row * inner + i, LOAD(PTR(x), row * inner + i) / pow((C)bias + (C)alpha / size * sum, (C)beta));
}
)CL"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::BatchNormalization<Kernels>, .op_type = "BatchNormalization", .since = 7,
             .contract = "X: [N, C, D...] | [N]; scale: [C]; B: [C]; mean: [C]; var: [C]")
TENON_KERNEL(ops::LayerNorm<Kernels>, .op_type = "LayerNormalization", .since = 1,
             .contract = "X: rank 1..; Scale: ~ X; B?: ~ X")
TENON_KERNEL(ops::LayerNorm<Kernels>, .op_type = "RMSNormalization", .since = 23,
             .contract = "X: rank 1..; scale: ~ X")
TENON_KERNEL(ops::InstanceNorm<Kernels>, .op_type = "InstanceNormalization", .since = 6,
             .contract = "input: [N, C, D...] & rank 3..; scale: [C]; B: [C]")
TENON_KERNEL(ops::GroupNorm<Kernels>, .op_type = "GroupNormalization", .since = 21,
             .contract = "X: [N, C, D...]; scale: [C]; bias: [C]")
TENON_KERNEL(ops::LpNormalization<Kernels>, .op_type = "LpNormalization", .since = 1,
             .contract = "input: rank 1..")
TENON_KERNEL(ops::Lrn<Kernels>, .op_type = "LRN", .since = 1, .contract = "X: [N, C, D...]")

}  // namespace
}  // namespace tenon::opencl
