// The geometry of convolutions and pools of one or two spatial axes.
#pragma once

#include "islands/builder.h"
#include "kernels/common/window.h"

namespace tenon::cpu::islands {

/// Two spatial axes; a missing first one has one element.
struct Window {
  WindowDim rows, columns;

  /// Of a kernel with weights [M, C / groups, spatial...] on x [N, C, spatial...].
  static Window of(const WindowAttributes& attributes, const Dims& x, const Dims& weights);

  int64_t taps() const { return rows.kernel * columns.kernel; }
  int64_t positions() const { return rows.out * columns.out; }
  /// Whether each output pixel needs the same pixel of the input, and no other.
  bool is_point() const;
};

/// For each pixel of the output and each tap, the pixel of the input, or -1 in the padding. Pixels are counted over all
/// images. Null for a window that is a point.
std::shared_ptr<const std::vector<int32_t>> places_of(Builder& b, const Window& window, int64_t images);

}  // namespace tenon::cpu::islands
