#include "kernels/common/lines.h"

namespace tenon::opencl {
namespace {

constexpr Size3 kLines{8, 1, 1};

constexpr Source kSource{"lines", R"CL(
#define LOAD16(p, step) ((step) == 1 ? vload16(0, p) : (float16)(vload16(0, p).even, vload16(1, p).even))
// Stores the first `count` of sixteen elements.
inline void store_part(__global float* p, float16 v, int count) {
  float8 rest = v.lo;
  if (count >= 16) {
    vstore16(v, 0, p);
    return;
  }
  if (count & 8) {
    vstore8(v.lo, 0, p);
    rest = v.hi;
    p += 8;
  }
  float4 four = rest.lo;
  if (count & 4) {
    vstore4(rest.lo, 0, p);
    four = rest.hi;
    p += 4;
  }
  float2 two = four.lo;
  if (count & 2) {
    vstore2(four.lo, 0, p);
    two = four.hi;
    p += 2;
  }
  if (count & 1) *p = two.x;
}
__kernel void PadLines(IN(float, x), OUT(float, y), Window w, Window padded, int planes, float fill) {
  const int line = get_global_id(0), plane = get_global_id(1);
  if (line >= padded.in[0] * padded.in[1] || plane >= planes) return;
  const int d = line / padded.in[1] - w.pad[0], h = line % padded.in[1] - w.pad[1];
  __global float* to = PTR(y) + ((long)plane * padded.in[0] * padded.in[1] + line) * padded.in[2];
  const bool inside = d >= 0 && d < w.in[0] && h >= 0 && h < w.in[1];
  __global const float* from = PTR(x) + (((long)plane * w.in[0] + d) * w.in[1] + h) * w.in[2] - w.pad[2];
  const int first = inside ? w.pad[2] : padded.in[2], last = inside ? w.pad[2] + w.in[2] : 0;
  for (int i = 0; i < padded.in[2]; i += 16) {
    if (i >= first && i + 16 <= last) {
      vstore16(vload16(0, from + i), 0, to + i);
    } else if (i + 16 <= first || i >= last) {
      vstore16((float16)fill, 0, to + i);
    } else {
      for (int k = i; k < i + 16; ++k) to[k] = k >= first && k < last ? from[k] : fill;
    }
  }
}
// From here on `w.in` is the padded copy.
__kernel void LayLines(IN(float, x), OUT(float, y), Window w, int rows) {
  const int line = get_global_id(0), row = get_global_id(1);
  if (line >= w.out[0] * w.out[1] || row >= rows) return;
  const int taps = w.size[0] * w.size[1] * w.size[2];
  const int c = row / taps, tap = row - c * taps;
  const int kw = tap % w.size[2], kh = tap / w.size[2] % w.size[1], kd = tap / w.size[2] / w.size[1];
  const int d = line / w.out[1] * w.stride[0] + kd * w.dilation[0];
  const int h = line % w.out[1] * w.stride[1] + kh * w.dilation[1];
  __global const float* from = PTR(x) + (((long)c * w.in[0] + d) * w.in[1] + h) * w.in[2] + kw * w.dilation[2];
  __global float* to = PTR(y) + ((long)row * w.out[0] * w.out[1] + line) * w.out[2];
  for (int i = 0; i < w.out[2]; i += 16)
    store_part(to + i, LOAD16(from + i * w.stride[2], w.stride[2]), w.out[2] - i);
}
__kernel void DepthwiseLines(IN(float, x), IN(float, f), IN(float, bias), OUT(float, y), Window w, int filters,
                             int multiplier, int images, int has_bias, float low, float high) {
  const int line = get_global_id(0), plane = get_global_id(1);
  if (line >= w.out[0] * w.out[1] || plane >= images * filters) return;
  const int image = plane / filters, filter = plane - image * filters;
  const long channel = (long)image * (filters / multiplier) + filter / multiplier;
  const int d0 = line / w.out[1] * w.stride[0], h0 = line % w.out[1] * w.stride[1];
  __global const float* base = PTR(x) + ((channel * w.in[0] + d0) * w.in[1] + h0) * w.in[2];
  __global const float* taps = PTR(f) + (long)filter * w.size[0] * w.size[1] * w.size[2];
  __global float* to = PTR(y) + ((long)plane * w.out[0] * w.out[1] + line) * w.out[2];
  const float start = has_bias ? PTR(bias)[filter] : 0.0f;
  for (int i = 0; i < w.out[2]; i += 16) {
    float16 sum = start;
    __global const float* weight = taps;
    for (int kd = 0; kd < w.size[0]; ++kd) {
      for (int kh = 0; kh < w.size[1]; ++kh) {
        __global const float* from =
            base + ((long)kd * w.dilation[0] * w.in[1] + kh * w.dilation[1]) * w.in[2] + i * w.stride[2];
        for (int kw = 0; kw < w.size[2]; ++kw) sum += *weight++ * LOAD16(from + kw * w.dilation[2], w.stride[2]);
      }
    }
    if (low != high) {
      sum = select(sum, (float16)low, sum < low);
      sum = select(sum, (float16)high, sum > high);
    }
    store_part(to + i, sum, w.out[2] - i);
  }
}
__kernel void MaximumLines(IN(float, x), OUT(float, y), Window w, int planes) {
  const int line = get_global_id(0), plane = get_global_id(1);
  if (line >= w.out[0] * w.out[1] || plane >= planes) return;
  const int d0 = line / w.out[1] * w.stride[0], h0 = line % w.out[1] * w.stride[1];
  __global const float* base = PTR(x) + (((long)plane * w.in[0] + d0) * w.in[1] + h0) * w.in[2];
  __global float* to = PTR(y) + ((long)plane * w.out[0] * w.out[1] + line) * w.out[2];
  for (int i = 0; i < w.out[2]; i += 16) {
    float16 top = -INFINITY;
    for (int kd = 0; kd < w.size[0]; ++kd) {
      for (int kh = 0; kh < w.size[1]; ++kh) {
        __global const float* from =
            base + ((long)kd * w.dilation[0] * w.in[1] + kh * w.dilation[1]) * w.in[2] + i * w.stride[2];
        for (int kw = 0; kw < w.size[2]; ++kw) {
          const float16 v = LOAD16(from + kw * w.dilation[2], w.stride[2]);
          top = select(top, v, v > top | isnan(v));
        }
      }
    }
    store_part(to + i, top, w.out[2] - i);
  }
}
)CL"};

}  // namespace

Window padded_window(const Window& window) {
  Window out = window;
  for (int d = 0; d < 3; ++d) {
    out.in[d] = (window.out[d] - 1) * window.stride[d] + (window.size[d] - 1) * window.dilation[d] + 1;
    out.pad[d] = 0;
  }
  const int steps = (window.out[2] + 15) / 16 * 16 * window.stride[2];
  out.in[2] = (steps + (window.size[2] - 1) * window.dilation[2] + 16 + 15) / 16 * 16;
  return out;
}

LineKernels::LineKernels(const NodeView& node)
    : pad_(find_kernel(node, kSource, "", "PadLines", kLines)),
      lay_(find_kernel(node, kSource, "", "LayLines", kLines)),
      depthwise_(find_kernel(node, kSource, "", "DepthwiseLines", kLines)),
      maximum_(find_kernel(node, kSource, "", "MaximumLines", kLines)) {}

bool LineKernels::fit(const NodeView& node) {
  return node.input(0).dtype() == TENON_FLOAT32 && instance_of(node).device.limits().is_cpu();
}

void LineKernels::warm_lay(const NodeView& node) const {
  warm(node, pad_);
  warm(node, lay_);
}
void LineKernels::warm_depthwise(const NodeView& node) const {
  warm(node, pad_);
  warm(node, depthwise_);
}
void LineKernels::warm_maximum(const NodeView& node) const {
  warm(node, pad_);
  warm(node, maximum_);
}

}  // namespace tenon::opencl
