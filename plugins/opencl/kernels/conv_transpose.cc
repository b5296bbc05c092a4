// ConvTranspose.
#include "tenon/ep/device/ops/conv_transpose.hpp"

#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"conv_transpose", R"CL(
__kernel void Spread(IN(T, x), IN(T, f), IN(T, bias), OUT(T, y), Window w, int images, int groups, int channels,
                     int filters, int has_bias) {
  const int ow = get_global_id(0), line = get_global_id(1), plane = get_global_id(2);
  if (ow >= w.out[2] || line >= w.out[0] * w.out[1] || plane >= images * groups * filters) return;
  const int image = plane / (groups * filters), all = plane - image * groups * filters;
  const int group = all / filters, filter = all - group * filters;
  const int od = line / w.out[1], oh = line - od * w.out[1];
  const int area = w.in[0] * w.in[1] * w.in[2], taps = w.size[0] * w.size[1] * w.size[2];
  __global const T* from = PTR(x) + ((long)image * groups + group) * channels * area;
  __global const T* weights = PTR(f) + ((long)group * channels * filters + filter) * taps;
  C sum = has_bias ? LOAD(PTR(bias), all) : (C)0;
  for (int kd = 0; kd < w.size[0]; ++kd) {
    const int pd = od + w.pad[0] - kd * w.dilation[0], d = pd / w.stride[0];
    if (pd < 0 || d * w.stride[0] != pd || d >= w.in[0]) continue;
    for (int kh = 0; kh < w.size[1]; ++kh) {
      const int ph = oh + w.pad[1] - kh * w.dilation[1], h = ph / w.stride[1];
      if (ph < 0 || h * w.stride[1] != ph || h >= w.in[1]) continue;
      for (int kw = 0; kw < w.size[2]; ++kw) {
        const int pw = ow + w.pad[2] - kw * w.dilation[2], v = pw / w.stride[2];
        if (pw < 0 || v * w.stride[2] != pw || v >= w.in[2]) continue;
        const int at = (d * w.in[1] + h) * w.in[2] + v, tap = (kd * w.size[1] + kh) * w.size[2] + kw;
        for (int c = 0; c < channels; ++c)
          sum += LOAD(from, (long)c * area + at) * LOAD(weights, (long)c * filters * taps + tap);
      }
    }
  }
  STORE(PTR(y), ((long)plane * w.out[0] * w.out[1] + line) * w.out[2] + ow, sum);
}
)CL"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::ConvTranspose<Kernels>, .op_type = "ConvTranspose", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5; W: [C, M, K...] & rank X; B?: [M*$group]")

}  // namespace
}  // namespace tenon::opencl
