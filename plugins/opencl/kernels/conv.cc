// Conv as a product of the filters with the input under each window. Filters of one point read the input
// directly. Depthwise filters are applied directly. Otherwise the windows are laid out in the workspace,
// image by image.
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

enum class Way { kPoint, kDepthwise, kLaid };

struct State {
  Way way = Way::kLaid;
  Window window{};
  GemmArgs product;  // for one image, or for all of them with kPoint
  cl_int images = 0, channels = 0, filters = 0, groups = 0;
  int64_t points = 0, depth = 0;
  uint64_t padded_bytes = 0;  // size of the padded copy of one image in the workspace; 0: no copy
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
        .rank(1, 3, 5)
        .that(n.attr_i("group", 1) > 0, TENON_REJECT_ATTRIBUTE, "group is not positive");
  }
  explicit Conv(const NodeView& n) : attributes_(n), groups_(n.attr_i("group", 1)), cut_(cut_of(n)) {
    const uint32_t dtype = n.input(0).dtype();
    const ValueView f = n.input(1);
    if (LineKernels::fit(n)) lines_ = LineKernels(n);
    const bool depthwise = groups_ > 1 && f.has_rank() && f.dim(1) == 1;
    const std::string defines = defines_for(dtype) + defines_to_move(dtype);
    depthwise_ = find_kernel(n, kSource, defines, "Depthwise", kLine);
    lay_ = find_kernel(n, kSource, defines, "Lay", kLine);
    if (depthwise) {
      lines_ ? lines_.warm_depthwise(n) : warm(n, depthwise_);
      return;
    }
    const int64_t filters = f.has_rank() && f.dim(0) >= 0 ? f.dim(0) / groups_ : -1;
    gemm_ = GemmKernels(n, dtype, filters, 32);
    bool point = f.has_rank();
    for (int d = 2; d < f.rank() && point; ++d) point = f.dim(d) == 1;
    if (!point) lines_ ? lines_.warm_lay(n) : warm(n, lay_);
  }

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), f = p.input(1).dims();
    require(f[0] % groups_ == 0, TENON_INVALID_ARGUMENT, "filters ", f, " cannot be divided into ", groups_,
            " groups");
    const Dims places = attributes_.output(x.subspan(2), f.subspan(2));
    Dims y{x[0], f[0]};
    y.insert(y.end(), places.begin(), places.end());
    p.set_output(0, y);
    State out;
    out.window = attributes_.window(x.subspan(2), places, f.subspan(2));
    out.images = narrow(x[0]);
    out.channels = narrow(x[1]);
    out.filters = narrow(f[0]);
    out.groups = narrow(groups_);
    out.points = element_count(places);
    out.depth = element_count(f.subspan(1));
    const auto element = dtype_bits(p.input(0).dtype()) / 8;
    if (lines_ && LineKernels::fit(out.window)) out.padded_bytes = padded_bytes(out.window, x[1]);
    if (groups_ > 1 && f[1] == 1) {
      out.way = Way::kDepthwise;
      if (out.padded_bytes != 0) p.workspace(out.padded_bytes * static_cast<uint64_t>(x[0]), 128);
      return out;
    }
    out.way = is_point(out.window) ? Way::kPoint : Way::kLaid;
    out.product = product(out, p.has_input(2));
    if (out.way == Way::kLaid) {
      p.workspace(out.padded_bytes + static_cast<uint64_t>(out.depth * groups_ * out.points) * element + 1,
                  128);
    }
    return out;
  }

  void record(Recorder& ctx, const State& state) const {
    if (state.way == Way::kDepthwise) return run_depthwise(ctx, state);
    const TensorArg filters = in(ctx.input(1)), bias = in(ctx.input(2));
    if (state.way == Way::kPoint) {
      gemm_.record(ctx, state.product, filters, in(ctx.input(0)), bias, out(ctx.output(0)));
      return;
    }
    const uint32_t element = dtype_bits(ctx.input(0).dtype()) / 8;
    const WorkspaceArg laid{state.padded_bytes, element};
    for (cl_int image = 0; image < state.images; ++image) {
      lay_out(ctx, state, image, laid);
      gemm_.record(ctx, state.product, filters, laid, bias,
                   out(ctx.output(0), int64_t{image} * state.filters * state.points));
    }
  }

 private:
  static uint64_t padded_bytes(const Window& window, int64_t planes) {
    return (static_cast<uint64_t>(padded_elements(padded_window(window)) * planes) * sizeof(float) + 127) /
           128 * 128;
  }

  void lay_out(Recorder& ctx, const State& state, cl_int image, const WorkspaceArg& laid) const {
    const Window& w = state.window;
    if (state.padded_bytes != 0) {
      const int64_t x = int64_t{w.in[0]} * w.in[1] * w.in[2] * state.channels;
      lines_.pad(ctx, in(ctx.input(0), image * x), WorkspaceArg{0, sizeof(float)}, w, state.channels, 0);
      lines_.lay(ctx, WorkspaceArg{0, sizeof(float)}, laid, w, state.channels);
      return;
    }
    launch(ctx, lay_,
           {static_cast<size_t>(w.out[2]), output_lines(w), static_cast<size_t>(state.depth * groups_)},
           in(ctx.input(0)), laid, w, state.channels, image);
  }

  GemmArgs product(const State& state, bool has_bias) const {
    GemmArgs out;
    GemmShape& s = out.shape;
    const int64_t rows = state.filters / groups_, images = state.way == Way::kPoint ? state.images : 1;
    s.rows = narrow(rows);
    s.columns = narrow(state.points);
    s.depth = s.a_row = narrow(state.depth);
    s.b_depth = s.y_row = s.columns;
    s.bias_row = 1;
    out.beta = has_bias ? 1.0f : 0.0f;
    out.lowest = cut_.low;
    out.highest = cut_.high;
    const int64_t b = state.depth * state.points, y = rows * state.points;
    s.batches = make_walk(Dims{images, groups_},
                          {{0, rows * state.depth}, {b * groups_, b}, {y * groups_, y}, {0, rows}}, true);
    return out;
  }

  void run_depthwise(Recorder& ctx, const State& state) const {
    const Window& w = state.window;
    const cl_int multiplier = state.filters / state.groups;
    const TensorArg filters = in(ctx.input(1)), bias = in(ctx.input(2)), y = out(ctx.output(0));
    if (state.padded_bytes != 0) {
      const WorkspaceArg padded{0, sizeof(float)};
      lines_.pad(ctx, in(ctx.input(0)), padded, w, int64_t{state.images} * state.channels, 0);
      lines_.depthwise(ctx, padded, filters, bias, y, w, state.filters, multiplier, state.images,
                       ctx.has_input(2), cut_);
      return;
    }
    const size_t planes = static_cast<size_t>(state.images) * static_cast<size_t>(state.filters);
    launch(ctx, depthwise_, {static_cast<size_t>(w.out[2]), output_lines(w), planes}, in(ctx.input(0)),
           filters, bias, y, w, state.filters, multiplier, state.images, cl_int{ctx.has_input(2)},
           cl_float{cut_.low}, cl_float{cut_.high});
  }

  WindowAttributes attributes_;
  int64_t groups_;
  Range cut_;
  KernelRef depthwise_, lay_;
  LineKernels lines_;  // used on CPUs
  GemmKernels gemm_;
};
TENON_KERNEL(Conv, .op_type = "Conv", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5; W: [M, C/$group, K...] & rank X; B?: [M]")

}  // namespace
}  // namespace tenon::opencl
