// Resize and Upsample.
#include "tenon/ep/device/ops/resize.hpp"

#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

// Per axis, the position in x is (position + add) * multiply / divide + offset.
constexpr std::string_view kText = R"CL(
typedef struct {
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
} Axes;
#define SOURCE(a, d, at) (a.whole[d] ? (float)(at) : ((float)(at) + a.add[d]) * a.multiply[d] / a.divide[d] + a.offset[d])
#ifdef M
__kernel void Nearest(IN(M, x), OUT(M, y), Axes a, int n, uint low, uint high) {
  const int i = get_global_id(0);
  if (i >= n) return;
  int from = 0;
  bool inside = true;
  for (int d = a.rank - 1, r = i; d >= 0; --d) {
    const int q = r / a.out[d];
    const float s = SOURCE(a, d, r - q * a.out[d]);
    r = q;
    if (a.clips && (s < 0 || s > a.in[d] - 1)) inside = false;
    const float v = a.rounding[d] == 0 ? ceil(s - 0.5f) : a.rounding[d] == 1 ? floor(s + 0.5f) : a.rounding[d] == 2 ? floor(s) : ceil(s);
    from += clamp((int)v, 0, a.in[d] - 1) * a.stride[d];
  }
  PTR(y)[i] = inside ? PTR(x)[from] : (M)((ulong)high << 32 | low);
}
#endif
#ifdef T
__kernel void Linear(IN(T, x), OUT(T, y), Axes a, int n, uint low, uint high) {
  const int i = get_global_id(0);
  if (i >= n) return;
  int base = 0, axes = 0, step[8];
  float part[8];
  bool inside = true;
  for (int d = a.rank - 1, r = i; d >= 0; --d) {
    const int q = r / a.out[d];
    const float s = SOURCE(a, d, r - q * a.out[d]);
    r = q;
    if (a.clips && (s < 0 || s > a.in[d] - 1)) inside = false;
    const float low = clamp(floor(s), 0.0f, (float)(a.in[d] - 1));
    base += (int)low * a.stride[d];
    if (a.whole[d]) continue;
    part[axes] = clamp(s - low, 0.0f, 1.0f);
    step[axes++] = (int)low + 1 < a.in[d] ? a.stride[d] : 0;
  }
  C sum = 0;
  for (int corner = 0; corner < 1 << axes; ++corner) {
    C weight = 1;
    int at = base;
    for (int k = 0; k < axes; ++k) {
      const bool high = corner >> k & 1;
      weight *= high ? part[k] : 1 - part[k];
      at += high ? step[k] : 0;
    }
    if (weight != 0) sum += weight * LOAD(PTR(x), at);
  }
  STORE(PTR(y), i, inside ? sum : (C)as_float(low));
}
#endif
)CL";

constexpr Source kSource{"resize", kText, "Axes", sizeof(ops::ResizeAxes)};
using Kernels = Backend<kSource>;

TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Resize", .since = 11,
             .contract = "X: rank 1..8; roi?: [?]; scales?: [?] @size; sizes?: [?] @size")
TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Resize", .since = 10, .until = 10,
             .contract = "X: rank 1..8; scales: [?] @size")
TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Upsample", .since = 9,
             .contract = "X: rank 1..8; scales: [?] @size")
TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Upsample", .since = 7, .until = 8, .contract = "X: rank 1..8")

}  // namespace
}  // namespace tenon::opencl
