// ConvTranspose: each output element sums the windows that reach it.
//
// Kernel Spread: (x, filters, bias, y, window, images, groups, channels, filters per group, has_bias), a work-item for each output
// element: the place in a line, the line, the plane. window.in is the input, window.out the larger output.
#ifndef TENON_EP_DEVICE_OPS_CONV_TRANSPOSE_HPP_
#define TENON_EP_DEVICE_OPS_CONV_TRANSPOSE_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/launch.hpp"
#include "tenon/ep/device/window.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

struct ConvTransposeState {
  Window window{};
  int32_t images, groups, channels, filters;
};

template <class B>
class ConvTranspose {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kDeviceRealTypes)
        .rank(0, 3, 5)
        .rank(1, 3, 5)
        .that(n.attr_i("group", 1) > 0, TENON_REJECT_ATTRIBUTE, "group is not positive");
  }
  explicit ConvTranspose(const NodeView& n)
      : attributes_(n),
        groups_(n.attr_i("group", 1)),
        output_shape_(n.attr_ints("output_shape")),
        output_padding_(n.attr_ints("output_padding")),
        kernel_(B::load(n, "Spread", {computes_in(n.input(0).dtype())})) {}

  ConvTransposeState prepare(PrepareContext& p) const {
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
  void record(typename B::Recorder& ctx, const ConvTransposeState& state) const {
    const Window& w = state.window;
    launch(ctx, kernel_,
           {static_cast<size_t>(w.out[2]), static_cast<size_t>(w.out[0]) * static_cast<size_t>(w.out[1]),
            static_cast<size_t>(state.images) * static_cast<size_t>(state.groups) *
                static_cast<size_t>(state.filters)},
           in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)), out(ctx.output(0)), w, state.images,
           state.groups, state.channels, state.filters, int32_t{ctx.has_input(2)});
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
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_CONV_TRANSPOSE_HPP_
