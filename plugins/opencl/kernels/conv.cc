// Conv: a product of the filters with what lies under each window. Filters of one point read the input where
// it is; depthwise filters are applied directly; else the windows are laid out in the workspace, image by image.
#include "kernels/common/gemm.h"
#include "kernels/common/window.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"conv", R"CL(
// Row (channel, position in the kernel) of the matrix whose columns are the output's points.
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
                        int has_bias) {
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
  STORE(PTR(y), ((long)plane * w.out[0] * w.out[1] + line) * w.out[2] + ow, sum);
}
#endif
)CL"};

enum class Way { kPoint, kDepthwise, kLaid };

struct Plan {
  Way way = Way::kLaid;
  Window window{};
  GemmArgs product;  // of one image, or of all for kPoint
  cl_int images = 0, channels = 0, filters = 0, groups = 0;
  int64_t points = 0, depth = 0;
};

bool is_point(const Window& w) {
  for (int d = 0; d < 3; ++d) {
    if (w.size[d] != 1 || w.stride[d] != 1 || w.pad[d] != 0 || w.in[d] != w.out[d]) return false;
  }
  return true;
}

class Conv {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kRealTypes)
        .rank(0, 3, 5)
        .that(n.attr_i("group", 1) > 0, TENON_REJECT_ATTRIBUTE, "group is not positive");
  }
  explicit Conv(const NodeView& n) : attributes_(n), groups_(n.attr_i("group", 1)) {
    const uint32_t dtype = n.input(0).dtype();
    const ValueView f = n.input(1);
    const bool depthwise = groups_ > 1 && f.has_rank() && f.dim(1) == 1;
    const std::string defines = defines_for(dtype) + defines_to_move(dtype);
    depthwise_ = find_kernel(n, kSource, defines, "Depthwise", kLine);
    lay_ = find_kernel(n, kSource, defines, "Lay", kLine);
    if (depthwise) {
      warm(n, depthwise_);
      return;
    }
    const int64_t filters = f.has_rank() && f.dim(0) >= 0 ? f.dim(0) / groups_ : -1;
    gemm_ = GemmKernels(n, dtype, filters, 32);
    bool point = f.has_rank();
    for (int d = 2; d < f.rank() && point; ++d) point = f.dim(d) == 1;
    if (!point) warm(n, lay_);
  }

  Plan prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), f = p.input(1).dims(), y = output_dims(p, 0);
    require(x.size() == f.size() && x.size() >= 3 && x.size() <= 5 && f[1] * groups_ == x[1] &&
                f[0] % groups_ == 0,
            TENON_INVALID_ARGUMENT, "filters ", f, " do not fit ", x, " in ", groups_, " groups");
    require(!p.has_input(2) || p.input(2).size() == f[0], TENON_INVALID_ARGUMENT, "bias has not ", f[0],
            " numbers");
    Plan out;
    out.window = attributes_.window(x.subspan(2), y.subspan(2), f.subspan(2));
    out.images = narrow(x[0]);
    out.channels = narrow(x[1]);
    out.filters = narrow(f[0]);
    out.groups = narrow(groups_);
    out.points = element_count(y.subspan(2));
    out.depth = element_count(f.subspan(1));
    if (groups_ > 1 && f[1] == 1) {
      out.way = Way::kDepthwise;
      return out;
    }
    out.way = is_point(out.window) ? Way::kPoint : Way::kLaid;
    out.product = product(out, p.has_input(2));
    if (out.way == Way::kLaid) {
      p.workspace(
          dtype_bytes(p.input(0).dtype(), static_cast<uint64_t>(out.depth * groups_ * out.points)) + 1, 128);
    }
    return out;
  }

  void run(const Context& ctx, const Plan& plan) const {
    if (plan.way == Way::kDepthwise) return run_depthwise(ctx, plan);
    const TensorArg filters = in(ctx.input(1)), bias = in(ctx.input(2));
    if (plan.way == Way::kPoint) {
      gemm_.record(ctx, plan.product, filters, in(ctx.input(0)), bias, out(ctx.output(0)));
      return;
    }
    const uint32_t element = dtype_bits(ctx.input(0).dtype()) / 8;
    for (cl_int image = 0; image < plan.images; ++image) {
      launch(
          ctx, lay_,
          {static_cast<size_t>(plan.window.out[2]), lines(plan), static_cast<size_t>(plan.depth * groups_)},
          in(ctx.input(0)), WorkspaceArg{0, element}, plan.window, plan.channels, image);
      gemm_.record(ctx, plan.product, filters, WorkspaceArg{0, element}, bias,
                   out(ctx.output(0), image * plan.filters * plan.points));
    }
  }

 private:
  static size_t lines(const Plan& plan) {
    return static_cast<size_t>(plan.window.out[0]) * static_cast<size_t>(plan.window.out[1]);
  }

  GemmArgs product(const Plan& plan, bool has_bias) const {
    GemmArgs out;
    GemmShape& s = out.shape;
    const int64_t rows = plan.filters / groups_, images = plan.way == Way::kPoint ? plan.images : 1;
    s.rows = narrow(rows);
    s.columns = narrow(plan.points);
    s.depth = s.a_row = narrow(plan.depth);
    s.b_depth = s.y_row = s.columns;
    s.bias_row = 1;
    out.beta = has_bias ? 1.0f : 0.0f;
    const int64_t b = plan.depth * plan.points, y = rows * plan.points;
    s.batches = make_walk(Dims{images, groups_},
                          {{0, rows * plan.depth}, {b * groups_, b}, {y * groups_, y}, {0, rows}}, true);
    return out;
  }

  void run_depthwise(const Context& ctx, const Plan& plan) const {
    launch(ctx, depthwise_,
           {static_cast<size_t>(plan.window.out[2]), lines(plan),
            static_cast<size_t>(plan.images) * static_cast<size_t>(plan.filters)},
           in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)), out(ctx.output(0)), plan.window,
           plan.filters, plan.filters / plan.groups, plan.images, cl_int{ctx.has_input(2)});
  }

  WindowAttributes attributes_;
  int64_t groups_;
  KernelRef depthwise_, lay_;
  GemmKernels gemm_;
};
TENON_KERNEL(Conv, .op_type = "Conv", .since = 1)

}  // namespace
}  // namespace tenon::opencl
