// The geometry of convolutions and pooling: kernel, strides, dilations and padding over any number of spatial
// dims.
#pragma once

#include "kernels/common/checked.h"

namespace tenon::cpu {

/// One spatial dim.
struct WindowDim {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;

  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  /// Where the window of output position `o` begins in the input; negative in the padding.
  int64_t start(int64_t o) const { return o * stride - pad_begin; }
  /// The kernel positions [first_tap(o), last_tap(o)) that fall inside the input at output position `o`.
  int64_t first_tap(int64_t o) const {
    return start(o) >= 0 ? 0 : std::min(kernel, ceil_div(-start(o), dilation));
  }
  int64_t last_tap(int64_t o) const { return taps_before(o, in); }
  /// Number of kernel positions inside the padded input.
  int64_t covered_taps(int64_t o) const { return taps_before(o, in + pad_end); }

 private:
  int64_t taps_before(int64_t o, int64_t end) const {
    return end <= start(o) ? 0 : std::min(kernel, ceil_div(end - start(o), dilation));
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

  /// Returns one entry per dim of `input`; no product or sum of its numbers overflows. `taps` is the kernel's
  /// shape; throws an Error if attribute kernel_shape differs. With `may_be_empty`, a kernel too long by one
  /// stride gives no windows instead of an Error, as ONNX's formula for pools says.
  std::vector<WindowDim> resolve(DimsView input, DimsView taps, bool may_be_empty = false) const {
    const size_t n = input.size();
    require(taps.size() == n, TENON_INVALID_ARGUMENT, "kernel shape ", taps, " for ", n, " spatial dims");
    require(kernel.empty() || std::equal(kernel.begin(), kernel.end(), taps.begin(), taps.end()),
            TENON_INVALID_ARGUMENT, "kernel_shape is ", kernel, ", but the weights have ", taps);
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
      require(w.pad_begin >= 0 && w.pad_end >= 0, TENON_INVALID_ARGUMENT, "pads are ", pads,
              " and must not be negative");
      pad(w, may_be_empty);
    }
    return out;
  }

  Dims kernel, strides, dilations, pads;
  std::string auto_pad;
  bool ceil_mode;

 private:
  void pad(WindowDim& w, bool may_be_empty) const {
    const int64_t reach = checked_add(checked_mul(w.kernel - 1, w.dilation, "the kernel"), 1, "the kernel");
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      w.out = ceil_div(w.in, w.stride);
      const int64_t needed = checked_add((w.out - 1) * w.stride, reach, "the padded input");
      const int64_t total = std::max<int64_t>(0, needed - w.in);
      w.pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.pad_end = total - w.pad_begin;
      return;
    }
    if (auto_pad == "VALID") w.pad_begin = w.pad_end = 0;
    const int64_t padded =
        checked_add(checked_add(w.in, w.pad_begin, "the padded input"), w.pad_end, "the padded input");
    const int64_t span = padded - reach;
    // With ceil_mode a window may exceed the end by less than a stride.
    require(span >= 0 || w.in == 0 || (ceil_mode && span > -w.stride) || (may_be_empty && span == -w.stride),
            TENON_INVALID_ARGUMENT, "the kernel spans ", reach, " elements, but the padded input has only ",
            padded);
    w.out = (ceil_mode ? ceil_div(span, w.stride) : -ceil_div(-span, w.stride)) + 1;
    // A window must begin inside the input or its leading padding.
    const int64_t last = checked_mul(std::max<int64_t>(w.out, 1) - 1, w.stride, "the last window's position");
    checked_add(last, reach, "the last window's end");
    if (ceil_mode && w.out > 0 && last >= w.in + w.pad_begin) --w.out;
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
