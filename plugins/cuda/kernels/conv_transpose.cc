// ConvTranspose.
#include "tenon/ep/device/ops/conv_transpose.hpp"

#include "kernels/common/kernel.h"

namespace tenon::cuda {
namespace {

constexpr Source kSource{"conv_transpose", R"CU(
KERNEL Spread(IN(T, x), IN(T, f), IN(T, bias), OUT(T, y), Window w, int images, int groups, int channels, int filters,
              int has_bias) {
  const int area = w.in[0] * w.in[1] * w.in[2], taps = w.size[0] * w.size[1] * w.size[2];
  EACH_Z(plane, (int64)images * groups * filters) EACH_Y(line, w.out[0] * w.out[1]) EACH(column, w.out[2]) {
    const int image = (int)(plane / ((int64)groups * filters)), all = (int)(plane - (int64)image * groups * filters);
    const int group = all / filters, filter = all - group * filters;
    const int od = (int)line / w.out[1], oh = (int)line - od * w.out[1], oq = (int)column;
    const T* from = x + ((int64)image * groups + group) * channels * area;
    const T* weights = f + ((int64)group * channels * filters + filter) * taps;
    C sum = has_bias ? (C)bias[all] : (C)0;
    for (int kd = 0; kd < w.size[0]; ++kd) {
      const int pd = od + w.pad[0] - kd * w.dilation[0], d = pd / w.stride[0];
      if (pd < 0 || d * w.stride[0] != pd || d >= w.in[0]) continue;
      for (int kh = 0; kh < w.size[1]; ++kh) {
        const int ph = oh + w.pad[1] - kh * w.dilation[1], h = ph / w.stride[1];
        if (ph < 0 || h * w.stride[1] != ph || h >= w.in[1]) continue;
        for (int kq = 0; kq < w.size[2]; ++kq) {
          const int pq = oq + w.pad[2] - kq * w.dilation[2], q = pq / w.stride[2];
          if (pq < 0 || q * w.stride[2] != pq || q >= w.in[2]) continue;
          const T* at = from + (d * w.in[1] + h) * w.in[2] + q;
          const T* weight = weights + (kd * w.size[1] + kh) * w.size[2] + kq;
          for (int c = 0; c < channels; ++c) {
            sum += (C)*at * (C)*weight;
            at += area;
            weight += (int64)filters * taps;
          }
        }
      }
    }
    y[(plane * w.out[0] * w.out[1] + line) * w.out[2] + column] = sum;
  }
}
)CU"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::ConvTranspose<Kernels>, .op_type = "ConvTranspose", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5; W: [C, M, K...] & rank X; B?: [M*$group]")

}  // namespace
}  // namespace tenon::cuda
