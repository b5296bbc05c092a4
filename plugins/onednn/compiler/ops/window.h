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
        pads_(n.attr_ints("pads")) {}

  const Dims& kernel() const { return kernel_; }

  /// From the shapes of input and output {N, C, spatial...}. What the padding at the end leaves unread is cut, and what
  /// it lacks for the output is added: an output shape that rounds up reads past the padding that was asked for.
  Window of(const Dims& x, const Dims& y, const Dims& kernel) const {
    Window w = defaults(kernel);
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t span = (y[i + 2] - 1) * w.strides[i] + (kernel[i] - 1) * w.dilations[i] + 1;
      set_pads(i, span - x[i + 2], &w);
    }
    return w;
  }

  /// Of the convolution whose gradient a transposed one is: input and output change places.
  Window of_transposed(const Dims& x, const Dims& y, const Dims& kernel, const Dims& output_padding) const {
    Window w = defaults(kernel);
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t span = (x[i + 2] - 1) * w.strides[i] + (kernel[i] - 1) * w.dilations[i] + 1;
      const int64_t extra = i < output_padding.size() ? output_padding[i] : 0;
      if (pads_.empty()) {  // pads follow from the output's shape
        const int64_t total = std::max<int64_t>(span + extra - y[i + 2], 0);
        const int64_t less = total / 2;
        w.pads_begin[i] = auto_pad_ == "SAME_LOWER" ? total - less : less;
      } else {
        w.pads_begin[i] = pads_[i];
      }
      w.pads_end[i] = span - y[i + 2] - w.pads_begin[i];
    }
    return w;
  }

 private:
  Window defaults(const Dims& kernel) const {
    Window w;
    const Dims ones(kernel.size(), 1);
    w.kernel = kernel;
    w.strides = strides_.empty() ? ones : strides_;
    w.dilations = dilations_.empty() ? ones : dilations_;
    w.pads_begin = w.pads_end = Dims(kernel.size(), 0);
    return w;
  }

  /// `total`: what is read of this axis beyond the input.
  void set_pads(size_t i, int64_t total, Window* w) const {
    if (auto_pad_ == "SAME_UPPER") {
      w->pads_begin[i] = std::max<int64_t>(total, 0) / 2;
    } else if (auto_pad_ == "SAME_LOWER") {
      w->pads_begin[i] = (std::max<int64_t>(total, 0) + 1) / 2;
    } else if (auto_pad_ != "VALID" && !pads_.empty()) {
      w->pads_begin[i] = pads_[i];
    }
    w->pads_end[i] = total - w->pads_begin[i];
  }

  std::string auto_pad_;
  Dims kernel_, strides_, dilations_, pads_;
};

}  // namespace tenon::onednn
