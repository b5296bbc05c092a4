// ConvTranspose: each output element sums the windows that reach it.
#include "kernels/common/kernel.h"
#include "tenon/ep/device/window.hpp"

namespace tenon::opencl {
namespace {

// `w.in` is the input, `w.out` the larger output.
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

struct State {
  Window window{};
  cl_int images, groups, channels, filters;
};

class ConvTranspose {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kRealTypes)
        .rank(0, 3, 5)
        .rank(1, 3, 5)
        .that(n.attr_i("group", 1) > 0, TENON_REJECT_ATTRIBUTE, "group is not positive");
  }
  explicit ConvTranspose(const NodeView& n)
      : attributes_(n),
        groups_(n.attr_i("group", 1)),
        output_shape_(n.attr_ints("output_shape")),
        output_padding_(n.attr_ints("output_padding")),
        kernel_(load_kernel(n, kSource, defines_for(n.input(0).dtype()), "Spread", kLine)) {}

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), f = p.input(1).dims(), y = output_dims(p, 0);
    require(groups_ > 0 && x[1] % groups_ == 0, TENON_INVALID_ARGUMENT, "filters ", f, " do not fit ", x,
            " in ", groups_, " groups");
    require(y.size() == x.size() && y[0] == x[0] && y[1] == f[1] * groups_, TENON_INVALID_ARGUMENT,
            "the output's shape ", y, " does not follow from input ", x, " and filters ", f);
    require_lists(x.size(), f.subspan(2));
    WindowAttributes attributes = attributes_;
    attributes.auto_pad = "NOTSET";
    if (!output_shape_.empty() || attributes_.is_same())
      attributes.pads = implied_pads(x.subspan(2), f.subspan(2), y.subspan(2));
    if (attributes_.auto_pad == "VALID") attributes.pads.clear();
    return {attributes.window(x.subspan(2), y.subspan(2), f.subspan(2)), narrow(x[0]), narrow(groups_),
            narrow(x[1] / groups_), narrow(f[1])};
  }
  void record(Recorder& ctx, const State& state) const {
    const Window& w = state.window;
    launch(ctx, kernel_,
           {static_cast<size_t>(w.out[2]), static_cast<size_t>(w.out[0]) * static_cast<size_t>(w.out[1]),
            static_cast<size_t>(state.images) * static_cast<size_t>(state.groups) *
                static_cast<size_t>(state.filters)},
           in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)), out(ctx.output(0)), w, state.images,
           state.groups, state.channels, state.filters, cl_int{ctx.has_input(2)});
  }

 private:
  void require_lists(size_t rank, DimsView kernel) const {
    const size_t axes = rank - 2;
    attributes_.require_fit(axes, kernel);
    const auto fits = [](const Dims& list, size_t wanted) { return list.empty() || list.size() == wanted; };
    // output_shape may give all dims or only the spatial ones.
    require(fits(output_padding_, axes) && (fits(output_shape_, axes) || fits(output_shape_, rank)),
            TENON_INVALID_ARGUMENT, "output_padding or output_shape do not match ", axes, " spatial dims");
    require(std::all_of(output_padding_.begin(), output_padding_.end(), [](int64_t pad) { return pad >= 0; }),
            TENON_INVALID_ARGUMENT, "output_padding is ", output_padding_, " and must not be negative");
  }
  /// ONNX's padding that reduces the full output to `out`: the larger half first, except with SAME_UPPER.
  Dims implied_pads(DimsView in, DimsView kernel, DimsView out) const {
    Dims pads(2 * in.size());
    for (size_t d = 0; d < in.size(); ++d) {
      const int64_t extra = output_padding_.empty() ? 0 : narrow(output_padding_[d]);
      const int64_t full = attributes_.stride(d) * (int64_t{narrow(in[d])} - 1) + extra +
                           (int64_t{narrow(kernel[d])} - 1) * attributes_.dilation(d) + 1;
      const int64_t total = std::max<int64_t>(0, full - out[d]);
      pads[d] = attributes_.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    }
    return pads;
  }

  WindowAttributes attributes_;
  int64_t groups_;
  Dims output_shape_, output_padding_;
  KernelRef kernel_;
};
TENON_KERNEL(ConvTranspose, .op_type = "ConvTranspose", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5; W: [C, M, K...] & rank X; B?: [M*$group]")

}  // namespace
}  // namespace tenon::opencl
