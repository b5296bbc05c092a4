// Resize and Upsample.
#include "tenon/ep/device/ops/resize.hpp"

#include "kernels/common/kernel.h"

namespace tenon::cuda {
namespace {

// Per axis, the position in x is (position + add) * multiply / divide + offset. No product stands directly in a
// sum, so that no fused operation changes the last bit, on which nearest neighbours depend.
constexpr Source kSource{"resize", R"CU(
struct Axes {
  int rank;
  int clips;
  int zero[2];
  int rounding[8];
  int out[8];
  int in[8];
  int stride[8];
  int whole[8];
  float add[8];
  float multiply[8];
  float divide[8];
  float offset[8];
};
__device__ inline float source_of(const Axes& a, int d, int at) {
  if (a.whole[d]) return (float)at;
  const float scaled = ((float)at + a.add[d]) * a.multiply[d] / a.divide[d];
  return scaled + a.offset[d];
}
__device__ inline bool is_beyond(const Axes& a, int d, float s) {
  return a.clips && (s < 0.0f || s > (float)(a.in[d] - 1));
}
#ifdef M
KERNEL Nearest(IN(M, x), OUT(M, y), Axes a, int n, uint32 low, uint32 high) {
  EACH(i, n) {
    int64 from = 0;
    bool inside = true;
    for (int d = a.rank - 1, r = (int)i; d >= 0; --d) {
      const int q = r / a.out[d];
      const float s = source_of(a, d, r - q * a.out[d]);
      r = q;
      if (is_beyond(a, d, s)) inside = false;
      const float v = a.rounding[d] == 0   ? ceilf(s - 0.5f)
                      : a.rounding[d] == 1 ? floorf(s + 0.5f)
                      : a.rounding[d] == 2 ? floorf(s)
                                           : ceilf(s);
      // NaN and what no int holds, too.
      const int at = !(v > 0.0f) ? 0 : v >= (float)(a.in[d] - 1) ? a.in[d] - 1 : (int)v;
      from += (int64)at * a.stride[d];
    }
    y[i] = inside ? x[from] : (M)((uint64)high << 32 | low);
  }
}
#endif
#ifdef T
// The loops over axes are unrolled, so that what an axis has stays in registers.
KERNEL Linear(IN(T, x), OUT(T, y), Axes a, int n, uint32 low, uint32 high) {
  EACH(i, n) {
    int64 base = 0;
    uint32 axes = 0;  // a bit for each axis that is interpolated
    int step[8];
    float part[8];
    bool inside = true;
    int r = (int)i;
#pragma unroll
    for (int d = 7; d >= 0; --d) {
      if (d >= a.rank) continue;
      const int q = r / a.out[d];
      const float s = source_of(a, d, r - q * a.out[d]);
      r = q;
      if (is_beyond(a, d, s)) inside = false;
      const float below = floorf(s);
      // NaN and what no int holds, too.
      const int lower = !(below > 0.0f) ? 0 : below >= (float)(a.in[d] - 1) ? a.in[d] - 1 : (int)below;
      base += (int64)lower * a.stride[d];
      if (a.whole[d]) continue;
      part[d] = fminf(fmaxf(s - (float)lower, 0.0f), 1.0f);
      step[d] = lower + 1 < a.in[d] ? a.stride[d] : 0;
      axes |= 1u << d;
    }
    // All subsets of the axes: those at which the corner is the upper one.
    C sum = 0;
    uint32 corner = 0;
    do {
      C weight = 1;
      int64 at = base;
#pragma unroll
      for (int d = 7; d >= 0; --d) {
        if ((axes >> d & 1) == 0) continue;
        const bool upper = corner >> d & 1;
        weight *= upper ? part[d] : 1 - part[d];
        at += upper ? step[d] : 0;
      }
      if (weight != 0) sum += weight * (C)x[at];
      corner = (corner - axes) & axes;
    } while (corner != 0);
    y[i] = inside ? sum : (C)__int_as_float((int)low);
  }
}
#endif
)CU"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Resize", .since = 11,
             .contract = "X: rank 1..8; roi?: [?]; scales?: [?] @size; sizes?: [?] @size")
TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Resize", .since = 10, .until = 10,
             .contract = "X: rank 1..8; scales: [?] @size")
TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Upsample", .since = 9,
             .contract = "X: rank 1..8; scales: [?] @size")
TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Upsample", .since = 7, .until = 8, .contract = "X: rank 1..8")

}  // namespace
}  // namespace tenon::cuda
