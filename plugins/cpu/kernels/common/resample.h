// Resizing along axes: where each output element comes from, and the loops.
#pragma once

#include <string>

#include "kernels/common/convert.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {

enum class Interpolation { kNearest, kLinear, kCubic };

/// One axis of a resized tensor.
struct ResizeAxis {
  int64_t in = 1, out = 1;
  float scale = 1;
  bool exact = false;                 // the scale is out / in, and not given as a number of its own
  double length = 0;                  // of the resized axis before it is rounded; 0: what the scale says
  double roi_begin = 0, roi_end = 1;  // tf_crop_and_resize

  double ratio() const {
    return exact ? static_cast<double>(out) / static_cast<double>(in) : static_cast<double>(scale);
  }
  bool same() const { return in == out && (exact || scale == 1) && roi_begin == 0 && roi_end == 1; }
};

/// How coordinates become elements; all attributes of Resize but those that decide about sizes.
struct ResizeRule {
  explicit ResizeRule(const NodeView& n);
  static Support supports(const NodeView& n);

  Interpolation interpolation = Interpolation::kNearest;
  std::string coordinates, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;

  /// The coordinate in the input of output element `i`.
  double source(const ResizeAxis& axis, int64_t i) const;
  /// Before version 11 it was the next one below, or above when the axis shrinks.
  int64_t nearest_element(double x, bool shrinks) const;
  /// How many elements the weights of one output element are spread over.
  double taps(const ResizeAxis& axis) const;
  /// Weights of the elements around x, the first of which is `*first`. They sum up to 1.
  std::vector<double> weights(double x, double scale, int64_t* first) const;

 private:
  double kernel(double distance) const;
};

/// What one axis needs at run time. `taps` elements with a weight each per output element; nearest: one tap
/// of weight 1.
struct ResizeTable {
  int64_t in = 1, out = 1, taps = 1;
  std::vector<int64_t> index;    // out * taps, within [0, in); nearest: the element's offset in the input
  std::vector<float> weight;     // as many; empty for nearest
  std::vector<uint8_t> outside;  // per output element; empty: none gets the extrapolation value
};

ResizeTable make_resize_table(const PrepareContext& p, const ResizeRule& rule, const ResizeAxis& axis);

/// One axis of an interpolation, with what lies around it by then.
struct ResizePass {
  size_t axis = 0;
  Around around;
};

/// All that a Run needs.
struct ResizePlan {
  Dims out;
  std::vector<ResizeTable> tables;  // one per axis
  std::vector<ResizePass>
      passes;  // axes that change; those that shrink come first: less to do for the others
};

/// The shape of the result is checked, and set as output 0, before tables take memory.
ResizePlan plan_resize(PrepareContext& p, const ResizeRule& rule, const std::vector<ResizeAxis>& axes);

/// Input 0 to output 0.
void resize(const Context& ctx, const ResizePlan& plan, const ResizeRule& rule);

}  // namespace tenon::cpu
