// Conv.
#include "tenon/ep/device/ops/conv.hpp"

#include "kernels/common/gemm.h"
#include "kernels/common/lines.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"conv", R"CL(
// Lays out the matrix whose rows are (channel, position in the kernel) and whose columns are the points of the output.
__kernel void Lay(IN(M, x), OUT(M, y), Window w, int channels, int image) {
  const int ow = get_global_id(0), line = get_global_id(1), row = get_global_id(2);
  const int taps = w.size[0] * w.size[1] * w.size[2];
  if (ow >= w.out[2] || line >= w.out[0] * w.out[1] || row >= channels * taps) return;
  const int c = row / taps, tap = row - c * taps;
  const int kw = tap % w.size[2], kh = tap / w.size[2] % w.size[1], kd = tap / w.size[2] / w.size[1];
  const int od = line / w.out[1], oh = line - od * w.out[1];
  const int d = od * w.stride[0] + kd * w.dilation[0] - w.pad[0];
  const int h = oh * w.stride[1] + kh * w.dilation[1] - w.pad[1];
  const int v = ow * w.stride[2] + kw * w.dilation[2] - w.pad[2];
  M value = 0;
  if (d >= 0 && d < w.in[0] && h >= 0 && h < w.in[1] && v >= 0 && v < w.in[2])
    value = PTR(x)[(((long)image * channels + c) * w.in[0] + d) * w.in[1] * w.in[2] + h * w.in[2] + v];
  PTR(y)[((long)row * w.out[0] * w.out[1] + line) * w.out[2] + ow] = value;
}
#ifdef T
__kernel void Depthwise(IN(T, x), IN(T, f), IN(T, bias), OUT(T, y), Window w, int filters, int multiplier, int images,
                        int has_bias, float low, float high) {
  const int ow = get_global_id(0), line = get_global_id(1), plane = get_global_id(2);
  if (ow >= w.out[2] || line >= w.out[0] * w.out[1] || plane >= images * filters) return;
  const int image = plane / filters, filter = plane - image * filters;
  const int od = line / w.out[1], oh = line - od * w.out[1];
  __global const T* from =
      PTR(x) + ((long)image * (filters / multiplier) + filter / multiplier) * w.in[0] * w.in[1] * w.in[2];
  __global const T* taps = PTR(f) + (long)filter * w.size[0] * w.size[1] * w.size[2];
  C sum = has_bias ? LOAD(PTR(bias), filter) : (C)0;
  for (int kd = 0; kd < w.size[0]; ++kd) {
    const int d = od * w.stride[0] + kd * w.dilation[0] - w.pad[0];
    if (d < 0 || d >= w.in[0]) continue;
    for (int kh = 0; kh < w.size[1]; ++kh) {
      const int h = oh * w.stride[1] + kh * w.dilation[1] - w.pad[1];
      if (h < 0 || h >= w.in[1]) continue;
      for (int kw = 0; kw < w.size[2]; ++kw) {
        const int v = ow * w.stride[2] + kw * w.dilation[2] - w.pad[2];
        if (v < 0 || v >= w.in[2]) continue;
        sum += LOAD(from, (d * w.in[1] + h) * w.in[2] + v) *
               LOAD(taps, (kd * w.size[1] + kh) * w.size[2] + kw);
      }
    }
  }
  if (low != high) sum = sum < (C)low ? (C)low : sum > (C)high ? (C)high : sum;
  STORE(PTR(y), ((long)plane * w.out[0] * w.out[1] + line) * w.out[2] + ow, sum);
}
#endif
)CL"};

/// The kernels of ops::Conv for windows. On CPUs those over lines, if they fit.
class Patches {
 public:
  Patches(const NodeView& n, bool is_depthwise) {
    const uint32_t dtype = n.input(0).dtype();
    if (LineKernels::fit(n)) lines_ = LineKernels(n);
    const std::string defines = defines_for(dtype) + defines_to_move(dtype);
    depthwise_ = find_kernel(n, kSource, defines, "Depthwise", kLine);
    lay_ = find_kernel(n, kSource, defines, "Lay", kLine);
    if (is_depthwise) {
      lines_ ? lines_.warm_depthwise(n) : warm(n, depthwise_);
      return;
    }
    const ValueView f = n.input(1);
    bool is_point = f.has_rank();
    for (int d = 2; d < f.rank() && is_point; ++d) is_point = f.dim(d) == 1;
    if (!is_point) lines_ ? lines_.warm_lay(n) : warm(n, lay_);
  }

  static bool lays(const Window& w) { return !ops::is_pointwise(w); }
  static int64_t columns(int64_t points) { return points; }

  uint64_t padded_bytes(const Window& window, int64_t planes) const {
    if (!lines_ || !LineKernels::fit(window)) return 0;
    const int64_t elements = product_of(padded_elements(padded_window(window)), planes);
    return (static_cast<uint64_t>(elements) * sizeof(float) + 127) / 128 * 128;
  }

  void lay(Recorder& ctx, const TensorView& x, cl_int image, uint64_t padded_bytes, const WorkspaceArg& laid,
           const Window& w, cl_int channels, int64_t) const {
    if (padded_bytes != 0) {
      const int64_t elements = int64_t{w.in[0]} * w.in[1] * w.in[2] * channels;
      lines_.pad(ctx, in(x, image * elements), kPadded, w, channels, 0);
      lines_.lay(ctx, kPadded, laid, w, channels);
      return;
    }
    const size_t taps =
        static_cast<size_t>(w.size[0]) * static_cast<size_t>(w.size[1]) * static_cast<size_t>(w.size[2]);
    launch(ctx, lay_, {static_cast<size_t>(w.out[2]), output_lines(w), static_cast<size_t>(channels) * taps},
           in(x), laid, w, channels, image);
  }

  void depthwise(Recorder& ctx, uint64_t padded_bytes, const Window& w, cl_int filters, cl_int multiplier,
                 cl_int images, Clamp clamp) const {
    const TensorArg x = in(ctx.input(0)), f = in(ctx.input(1)), bias = in(ctx.input(2)),
                    y = out(ctx.output(0));
    if (padded_bytes != 0) {
      lines_.pad(ctx, x, kPadded, w, int64_t{images} * (filters / multiplier), 0);
      lines_.depthwise(ctx, kPadded, f, bias, y, w, filters, multiplier, images, ctx.has_input(2), clamp);
      return;
    }
    const size_t planes = static_cast<size_t>(images) * static_cast<size_t>(filters);
    launch(ctx, depthwise_, {static_cast<size_t>(w.out[2]), output_lines(w), planes}, x, f, bias, y, w,
           filters, multiplier, images, cl_int{ctx.has_input(2)}, cl_float{clamp.low}, cl_float{clamp.high});
  }

 private:
  static constexpr WorkspaceArg kPadded{0, sizeof(float)};

  KernelRef depthwise_, lay_;
  LineKernels lines_;
};

struct Kernels : Backend<kSource> {
  using Gemm = GemmKernels;
  using Patches = opencl::Patches;
};

TENON_KERNEL(ops::Conv<Kernels>, .op_type = "Conv", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5; W: [M, C/$group, K...] & rank X; B?: [M]")

}  // namespace
}  // namespace tenon::opencl
