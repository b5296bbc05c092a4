// Kernels by lines, for CPUs. Windows slide over a copy of the input that includes the padding. A work-item
// computes sixteen outputs of a line at a time and needs no bounds checks. Other devices do not use these
// kernels, because neighbouring work-items must read neighbouring elements there.
#pragma once

#include "kernels/common/kernel.h"
#include "tenon/ep/device/window.hpp"

namespace tenon::opencl {

/// The window over the padded copy. `in` is the size of the copy: lines are multiples of 16 long, with room
/// for loads of sixteen that reach past the last element.
Window padded_window(const Window& window);

/// Elements of one padded plane.
inline int64_t padded_elements(const Window& padded) {
  return int64_t{padded.in[0]} * padded.in[1] * padded.in[2];
}

/// Number of output lines: the first axis of a launch with one work-item per line.
inline size_t output_lines(const Window& w) {
  return static_cast<size_t>(w.out[0]) * static_cast<size_t>(w.out[1]);
}

/// Kernels for float32 with strides of one or two elements along the line.
class LineKernels {
 public:
  LineKernels() = default;
  explicit LineKernels(const NodeView& node);

  static bool fit(const NodeView& node);
  static bool fit(const Window& window) { return window.stride[2] <= 2; }
  explicit operator bool() const { return pad_.built != nullptr; }

  /// Writes the padded copy of `planes` planes of x into `to`; the padding gets `fill`.
  template <class To>
  void pad(Recorder& ctx, const TensorArg& x, const To& to, const Window& w, int64_t planes,
           float fill) const {
    const Window padded = padded_window(w);
    launch(ctx, pad_,
           {static_cast<size_t>(padded.in[0]) * static_cast<size_t>(padded.in[1]),
            static_cast<size_t>(planes), 1},
           x, to, w, padded, narrow(planes), cl_float{fill});
  }
  /// Writes the matrix whose rows are (channel, position in the window) and whose columns are the outputs.
  template <class From, class To>
  void lay(Recorder& ctx, const From& from, const To& to, const Window& w, int64_t channels) const {
    launch(ctx, lay_, {output_lines(w), static_cast<size_t>(channels) * static_cast<size_t>(taps(w)), 1},
           from, to, padded_window(w), narrow(channels * taps(w)));
  }
  /// Depthwise filters: `filters` per image, `multiplier` per plane.
  template <class From>
  void depthwise(Recorder& ctx, const From& from, const TensorArg& f, const TensorArg& bias,
                 const TensorArg& y, const Window& w, cl_int filters, cl_int multiplier, cl_int images,
                 bool has_bias, Clamp clamp) const {
    launch(ctx, depthwise_, {output_lines(w), static_cast<size_t>(images) * static_cast<size_t>(filters), 1},
           from, f, bias, y, padded_window(w), filters, multiplier, images, cl_int{has_bias},
           cl_float{clamp.low}, cl_float{clamp.high});
  }
  template <class From>
  void maximum(Recorder& ctx, const From& from, const TensorArg& y, const Window& w, cl_int planes) const {
    launch(ctx, maximum_, {output_lines(w), static_cast<size_t>(planes), 1}, from, y, padded_window(w),
           planes);
  }

  void warm_lay(const NodeView& node) const;
  void warm_depthwise(const NodeView& node) const;
  void warm_maximum(const NodeView& node) const;

 private:
  static int64_t taps(const Window& w) { return int64_t{w.size[0]} * w.size[1] * w.size[2]; }

  KernelRef pad_, lay_, depthwise_, maximum_;
};

}  // namespace tenon::opencl
