// Windows that slide over up to three spatial axes, for convolutions and pooling.
#ifndef TENON_EP_DEVICE_WINDOW_HPP_
#define TENON_EP_DEVICE_WINDOW_HPP_

#include "tenon/ep/device/walk.hpp"
#include "tenon/ep/graph.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// A struct of 32-bit integers, declared alike in the language of the kernels. Missing axes come first and have size 1.
struct Window {
  int32_t in[3];
  int32_t out[3];
  int32_t size[3];
  int32_t stride[3];
  int32_t dilation[3];
  int32_t pad[3];  // before the first element
};

/// The attributes of Conv, ConvTranspose and pooling operators.
struct WindowAttributes {
  explicit WindowAttributes(const NodeView& n)
      : kernel(n.attr_ints("kernel_shape")),
        strides(n.attr_ints("strides")),
        dilations(n.attr_ints("dilations")),
        pads(n.attr_ints("pads")),
        auto_pad(n.attr_s("auto_pad", "NOTSET")) {}

  Dims kernel, strides, dilations, pads;
  std::string auto_pad;

  /// The number of windows along each axis. `ceils`: counts a window that is cut off at the end too, unless
  /// it starts in the padding there. Throws if no window fits. With `may_be_empty`, a window that is one
  /// stride too long gives 0 instead, as in ONNX's formula for pools.
  Dims output(DimsView in, DimsView kernel_dims, bool ceils = false, bool may_be_empty = false) const {
    require_fit(in.size(), kernel_dims);
    Dims out;
    for (size_t d = 0; d < in.size(); ++d) {
      const int64_t stride = step(strides, d), span = span_of(kernel_dims[d], step(dilations, d));
      if (is_same()) {
        out.push_back((in[d] + stride - 1) / stride);
        continue;
      }
      const int64_t before = pad_at(d), padded = narrow(in[d]) + before + pad_at(in.size() + d);
      const int64_t room = padded - span, steps = room >= 0 ? room / stride : -1;
      int64_t windows = steps + (ceils && room > steps * stride ? 1 : 0) + 1;
      if (ceils && (windows - 1) * stride >= in[d] + before) --windows;
      require(windows > 0 || (may_be_empty && room == -stride), TENON_INVALID_ARGUMENT, "a window of ", span,
              " does not fit into axis ", d, " of ", in[d], " elements, ", padded, " with padding");
      out.push_back(std::max<int64_t>(windows, 0));
    }
    return out;
  }

  bool is_same() const { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }

  /// `in`, `out`, `kernel_dims`: the spatial dims, one to three.
  Window window(DimsView in, DimsView out, DimsView kernel_dims) const {
    Window w{};
    for (int d = 0; d < 3; ++d) w.in[d] = w.out[d] = w.size[d] = w.stride[d] = w.dilation[d] = 1;
    const size_t axes = in.size(), first = 3 - axes;
    require_fit(axes, kernel_dims);
    require(out.size() == axes, TENON_INVALID_ARGUMENT, "the output has ", out.size(),
            " spatial axes instead of ", axes);
    for (size_t d = 0; d < axes; ++d) {
      const size_t at = first + d;
      w.in[at] = narrow(in[d]);
      w.out[at] = narrow(out[d]);
      w.size[at] = narrow(kernel_dims[d]);
      w.stride[at] = narrow(step(strides, d));
      w.dilation[at] = narrow(step(dilations, d));
      w.pad[at] = narrow(pad(d, in[d], out[d], kernel_dims[d], w.stride[at], w.dilation[at]));
    }
    return w;
  }

  /// `kernel_dims`: from the weights or the attribute. If both are given, they must agree.
  void require_fit(size_t axes, DimsView kernel_dims) const {
    const auto fits = [&](const Dims& given, size_t count) { return given.empty() || given.size() == count; };
    require(kernel_dims.size() == axes, TENON_INVALID_ARGUMENT, "the kernel shape ", kernel_dims,
            " does not match ", axes, " spatial axes");
    require(
        kernel.empty() || std::equal(kernel.begin(), kernel.end(), kernel_dims.begin(), kernel_dims.end()),
        TENON_INVALID_ARGUMENT, "kernel_shape is ", kernel, ", but the weights have ", kernel_dims);
    require(fits(strides, axes) && fits(dilations, axes) && fits(pads, 2 * axes), TENON_INVALID_ARGUMENT,
            "strides, dilations or pads do not match ", axes, " spatial dims");
    require(std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0; }),
            TENON_INVALID_ARGUMENT, "pads are ", pads, " and must not be negative");
  }
  /// Fits into 32 bits, so that computations in 64 bits do not overflow.
  int64_t stride(size_t d) const { return step(strides, d); }
  int64_t dilation(size_t d) const { return step(dilations, d); }

 private:
  static int64_t step(const Dims& given, size_t d) {
    const int64_t out = given.empty() ? 1 : narrow(given[d]);
    require(out > 0, TENON_INVALID_ARGUMENT, "a stride or dilation is ", out, "; it must be positive");
    return out;
  }
  int64_t pad_at(size_t i) const { return auto_pad == "VALID" || pads.empty() ? 0 : narrow(pads[i]); }
  /// The number of elements from the first to the last that a window covers.
  static int64_t span_of(int64_t kernel_size, int64_t dilation) {
    require(kernel_size > 0, TENON_INVALID_ARGUMENT, "the kernel shape has ", kernel_size,
            ", which is not positive");
    return (int64_t{narrow(kernel_size)} - 1) * dilation + 1;
  }
  int64_t pad(size_t d, int64_t in, int64_t out, int64_t kernel_size, int64_t stride,
              int64_t dilation) const {
    if (is_same()) {
      const int64_t total = std::max<int64_t>(0, (out - 1) * stride + (kernel_size - 1) * dilation + 1 - in);
      return auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    }
    return pad_at(d);
  }
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_WINDOW_HPP_
