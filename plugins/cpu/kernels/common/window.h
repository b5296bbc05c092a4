// The geometry of convolutions and pooling: kernel, strides, dilations and padding over any number of spatial
// dims.
#pragma once

#include "kernels/common/shape.h"

namespace tenon::cpu {

/// One spatial dim.
struct WindowDim {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;

  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  /// The kernel positions [first, last) that fall inside the input at output position `o`.
  int64_t first_tap(int64_t o) const {
    const int64_t start = o * stride - pad_begin;
    return start >= 0 ? 0 : std::min(kernel, (-start + dilation - 1) / dilation);
  }
  int64_t last_tap(int64_t o) const {
    const int64_t room = in - (o * stride - pad_begin);
    return room <= 0 ? 0 : std::min(kernel, (room + dilation - 1) / dilation);
  }
};

/// The attributes that Conv, ConvTranspose, pooling and Im2Col-like operators share.
class WindowAttributes {
 public:
  explicit WindowAttributes(const NodeView& n)
      : kernel(n.attr_ints("kernel_shape")),
        strides(n.attr_ints("strides")),
        dilations(n.attr_ints("dilations")),
        pads(n.attr_ints("pads")),
        auto_pad(n.attr_s("auto_pad", "NOTSET")),
        ceil_mode(n.attr_i("ceil_mode", 0) != 0) {}

  /// One entry per dim of `input`. `kernel_shape` is used when the attribute is missing (Conv: from the
  /// weights).
  std::vector<WindowDim> resolve(DimsView input, DimsView kernel_shape) const {
    const size_t n = input.size();
    const DimsView taps = kernel.empty() ? kernel_shape : DimsView(kernel);
    require(taps.size() == n, TENON_INVALID_ARGUMENT, "kernel shape ", taps, " for ", n, " spatial dims");
    const auto fits = [n](const Dims& list, size_t each) { return list.empty() || list.size() == n * each; };
    require(fits(strides, 1) && fits(dilations, 1) && fits(pads, 2), TENON_INVALID_ARGUMENT,
            "strides, dilations or pads do not match ", n, " spatial dims");
    std::vector<WindowDim> out(n);
    for (size_t d = 0; d < n; ++d) {
      WindowDim& w = out[d];
      w.in = input[d];
      w.kernel = taps[d];
      w.stride = strides.empty() ? 1 : strides[d];
      w.dilation = dilations.empty() ? 1 : dilations[d];
      require(w.kernel > 0 && w.stride > 0 && w.dilation > 0, TENON_INVALID_ARGUMENT,
              "kernel, strides and dilations must be positive");
      if (!pads.empty()) w.pad_begin = pads[d], w.pad_end = pads[d + n];
      pad(w);
    }
    return out;
  }

  Dims kernel, strides, dilations, pads;
  std::string auto_pad;
  bool ceil_mode;

 private:
  void pad(WindowDim& w) const {
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      w.out = (w.in + w.stride - 1) / w.stride;
      const int64_t total = std::max<int64_t>(0, (w.out - 1) * w.stride + w.reach() - w.in);
      w.pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.pad_end = total - w.pad_begin;
      return;
    }
    if (auto_pad == "VALID") w.pad_begin = w.pad_end = 0;
    const int64_t span = w.in + w.pad_begin + w.pad_end - w.reach();
    require(span >= 0 || w.in == 0, TENON_INVALID_ARGUMENT, "the kernel reaches over ", w.reach(),
            " elements but the padded input has ", w.in + w.pad_begin + w.pad_end);
    w.out = (ceil_mode ? span + w.stride - 1 : span) / w.stride + 1;
    // A window must begin inside the input or its leading padding.
    if (ceil_mode && (w.out - 1) * w.stride >= w.in + w.pad_begin) --w.out;
    w.out = std::max<int64_t>(w.out, 0);
  }
};

/// {n, c, out dims...}.
inline Dims window_output(int64_t batch, int64_t channels, const std::vector<WindowDim>& window) {
  Dims out{batch, channels};
  for (const WindowDim& w : window) out.push_back(w.out);
  return out;
}

}  // namespace tenon::cpu
