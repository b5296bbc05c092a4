// Windows that slide over up to three spatial axes: convolutions and pooling.
#pragma once

#include "kernels/common/walk.h"

namespace tenon::opencl {

/// The same struct as in the prelude. Missing axes come first and have size 1.
struct Window {
  cl_int in[3];
  cl_int out[3];
  cl_int size[3];
  cl_int stride[3];
  cl_int dilation[3];
  cl_int pad[3];  // before the first element
};

/// Attributes of Conv, ConvTranspose and the pools.
struct WindowAttributes {
  explicit WindowAttributes(const ep::NodeView& n)
      : kernel(n.attr_ints("kernel_shape")),
        strides(n.attr_ints("strides")),
        dilations(n.attr_ints("dilations")),
        pads(n.attr_ints("pads")),
        auto_pad(n.attr_s("auto_pad", "NOTSET")) {}

  ep::Dims kernel, strides, dilations, pads;
  std::string auto_pad;

  bool is_same() const { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }

  /// `in`, `out`, `kernel_dims`: the spatial dims, between one and three.
  Window window(ep::DimsView in, ep::DimsView out, ep::DimsView kernel_dims) const {
    Window w{};
    for (int d = 0; d < 3; ++d) w.in[d] = w.out[d] = w.size[d] = w.stride[d] = w.dilation[d] = 1;
    const size_t axes = in.size(), first = 3 - axes;
    const auto fits = [&](const ep::Dims& given, size_t count) {
      return given.empty() || given.size() == count;
    };
    ep::require(kernel_dims.size() == axes && out.size() == axes && fits(strides, axes) &&
                    fits(dilations, axes) && fits(pads, 2 * axes),
                TENON_INVALID_ARGUMENT, "kernel_shape, strides, dilations or pads do not fit ", axes,
                " axes");
    for (size_t d = 0; d < axes; ++d) {
      const size_t at = first + d;
      w.in[at] = narrow(in[d]);
      w.out[at] = narrow(out[d]);
      w.size[at] = narrow(kernel_dims[d]);
      w.stride[at] = strides.empty() ? 1 : narrow(strides[d]);
      w.dilation[at] = dilations.empty() ? 1 : narrow(dilations[d]);
      ep::require(w.stride[at] > 0 && w.dilation[at] > 0, TENON_INVALID_ARGUMENT,
                  "a stride or dilation that is not positive");
      w.pad[at] = narrow(pad(d, in[d], out[d], kernel_dims[d], w.stride[at], w.dilation[at]));
    }
    return w;
  }

 private:
  int64_t pad(size_t d, int64_t in, int64_t out, int64_t kernel_size, int64_t stride,
              int64_t dilation) const {
    if (is_same()) {
      const int64_t total = std::max<int64_t>(0, (out - 1) * stride + (kernel_size - 1) * dilation + 1 - in);
      return auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    }
    return auto_pad == "VALID" || pads.empty() ? 0 : pads[d];
  }
};

}  // namespace tenon::opencl
