// Attributes of sliding windows: Conv, ConvTranspose and the pooling operators.
#pragma once

#include <algorithm>

#include "compiler/operation.h"

namespace tenon::onednn {

class WindowAttributes {
 public:
  explicit WindowAttributes(const NodeView& n)
      : auto_pad_(n.attr_s("auto_pad", "NOTSET")),
        kernel_(n.attr_ints("kernel_shape")),
        strides_(n.attr_ints("strides")),
        dilations_(n.attr_ints("dilations")),
        pads_(n.attr_ints("pads")),
        ceil_(n.attr_i("ceil_mode", 0) != 0) {}

  /// Checks that the attributes fit `axes` spatial axes and each other.
  void check(Check& out, size_t axes) const {
    const auto fits = [&](const Dims& list, size_t count, int64_t least, const char* name) {
      const bool good = list.empty() || list.size() == count;
      out.that(good, TENON_REJECT_ATTRIBUTE, name, " has ", list.size(), " numbers, ", count, " are needed");
      const bool in_range =
          std::all_of(list.begin(), list.end(), [&](int64_t i) { return i >= least && i <= kMost; });
      out.that(in_range, TENON_REJECT_ATTRIBUTE, name, " is ", list, "; supported values are ", least, " to ",
               kMost);
    };
    fits(kernel_, axes, 1, "kernel_shape");
    fits(strides_, axes, 1, "strides");
    fits(dilations_, axes, 1, "dilations");
    fits(pads_, 2 * axes, 0, "pads");
  }

  const Dims& kernel() const { return kernel_; }
  /// VALID with ceil_mode: implementations of shape inference differ.
  bool is_ambiguous() const { return ceil_ && auto_pad_ == "VALID"; }

  /// Whether each window holds at least one element of an axis of length `x`, -1 if not known. ONNX leaves
  /// out windows behind the end; not every shape inference does.
  bool stays_inside(DimsView x) const {
    for (size_t i = 0; i < kernel_.size(); ++i) {
      const int64_t stride = at(strides_, i, 1);
      if (begin_pad(i) >= span_of(i, kernel_[i]) || end_pad(i) >= span_of(i, kernel_[i])) return false;
      if (!ceil_ || (end_pad(i) == 0 && stride <= span_of(i, kernel_[i]))) continue;
      if (x[i] < 0) return false;
      const int64_t free = x[i] + begin_pad(i) + end_pad(i) - span_of(i, kernel_[i]);
      if (free > 0 && (free + stride - 1) / stride * stride >= x[i] + begin_pad(i)) return false;
    }
    return true;
  }

  /// The result shape {N, channels, spatial...} for x {N, C, spatial...}. `may_be_empty`: a kernel that is
  /// one stride too long gives 0 windows, as in ONNX's formula for pools.
  Dims shape(const Dims& x, int64_t channels, const Dims& kernel, bool may_be_empty = false) const {
    Dims out{x[0], channels};
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t stride = at(strides_, i, 1), span = span_of(i, kernel[i]), length = x[i + 2];
      if (auto_pad_ == "SAME_UPPER" || auto_pad_ == "SAME_LOWER") {
        out.push_back((length + stride - 1) / stride);
        continue;
      }
      const int64_t free = length + begin_pad(i) + end_pad(i) - span;
      const bool fits =
          free >= 0 || (ceil_ && free > -stride && length != 0);  // ceil_ adds a window cut at the end
      if (!fits && may_be_empty && free == -stride) {
        out.push_back(0);
        continue;
      }
      require(fits, TENON_INVALID_ARGUMENT, "a window of ", span, " elements is larger than axis ", i + 2,
              ", which has ", length, " and ", begin_pad(i) + end_pad(i), " of padding");
      out.push_back(free < 0 ? 1 : (ceil_ ? free + stride - 1 : free) / stride + 1);
    }
    return out;
  }

  /// The window for input and output shapes {N, C, spatial...}. The end padding is set to what the output
  /// needs: less than asked for if some of it stays unread, more if the output shape is rounded up.
  Window of(const Dims& x, const Dims& y, const Dims& kernel) const {
    Window w = defaults(kernel);
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t total = (y[i + 2] - 1) * w.strides[i] + span_of(i, kernel[i]) - x[i + 2];
      w.pads_begin[i] = begin_pad(i);
      if (auto_pad_ == "SAME_UPPER") w.pads_begin[i] = std::max<int64_t>(total, 0) / 2;
      if (auto_pad_ == "SAME_LOWER") w.pads_begin[i] = (std::max<int64_t>(total, 0) + 1) / 2;
      w.pads_end[i] = total - w.pads_begin[i];
    }
    return w;
  }

  /// The shape {N, channels, spatial...} of the transposed convolution of x.
  Dims transposed_shape(const Dims& x, int64_t channels, const Dims& kernel, const Dims& output_padding,
                        const Dims& output_shape) const {
    Dims out{x[0], channels};
    const size_t skip = output_shape.size() > kernel.size() ? 2 : 0;  // may start with N, C
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t stride = at(strides_, i, 1), extra = at(output_padding, i, 0);
      const int64_t whole = (x[i + 2] - 1) * stride + span_of(i, kernel[i]) + extra;
      if (!output_shape.empty()) {
        out.push_back(output_shape.at(skip + i));
      } else if (is_same()) {
        out.push_back(std::min(whole, x[i + 2] * stride));
      } else {
        out.push_back(whole - begin_pad(i) - end_pad(i));
      }
    }
    return out;
  }

  /// The window of the convolution whose gradient a transposed one is: input and output are exchanged.
  /// `pads_follow`: pads follow from the output's shape, whatever the attribute says.
  Window of_transposed(const Dims& x, const Dims& y, const Dims& kernel, const Dims& output_padding,
                       bool pads_follow) const {
    Window w = defaults(kernel);
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t span = (x[i + 2] - 1) * w.strides[i] + span_of(i, kernel[i]);
      w.pads_begin[i] = begin_pad(i);
      if (pads_follow || is_same()) {
        const int64_t total = std::max<int64_t>(span + at(output_padding, i, 0) - y[i + 2], 0);
        w.pads_begin[i] = auto_pad_ == "SAME_UPPER" ? total / 2 : total - total / 2;
      }
      w.pads_end[i] = span - y[i + 2] - w.pads_begin[i];
    }
    return w;
  }

 private:
  /// A limit such that the product of two attributes and a size does not overflow.
  static constexpr int64_t kMost = 1 << 24;

  static int64_t at(const Dims& list, size_t i, int64_t otherwise) {
    return list.empty() ? otherwise : list[i];
  }
  bool is_same() const { return auto_pad_ == "SAME_UPPER" || auto_pad_ == "SAME_LOWER"; }
  int64_t begin_pad(size_t i) const { return auto_pad_ == "NOTSET" ? at(pads_, i, 0) : 0; }
  int64_t end_pad(size_t i) const { return auto_pad_ == "NOTSET" ? at(pads_, i + pads_.size() / 2, 0) : 0; }
  int64_t span_of(size_t i, int64_t kernel) const { return (kernel - 1) * at(dilations_, i, 1) + 1; }

  Window defaults(const Dims& kernel) const {
    Window w;
    const Dims ones(kernel.size(), 1);
    w.kernel = kernel;
    w.strides = strides_.empty() ? ones : strides_;
    w.dilations = dilations_.empty() ? ones : dilations_;
    w.pads_begin = w.pads_end = Dims(kernel.size(), 0);
    return w;
  }

  std::string auto_pad_;
  Dims kernel_, strides_, dilations_, pads_;
  bool ceil_;
};

/// Declines empty inputs: the library then computes no result, even where the output has elements.
inline Check& has_elements(Check& check, const NodeView& n, int input) {
  const DimsView dims = n.input(input).dims();
  return check.that(std::count(dims.begin(), dims.end(), 0) == 0, TENON_REJECT_SHAPE, "input ", input,
                    " has shape ", dims);
}

}  // namespace tenon::onednn
