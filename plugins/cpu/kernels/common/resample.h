// Resizing along axes: the source of each output element, and the loops.
#pragma once

#include <string>

#include "isa/resample.h"
#include "kernels/common/convert.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {

enum class Interpolation { kNearest, kLinear, kCubic };

/// One axis of a resized tensor.
struct ResizeAxis {
  int64_t in = 1, out = 1;
  float scale = 1;
  bool exact = false;                 // the scale is out / in, not given separately
  double length = 0;                  // the resized length before rounding; 0: scale * in
  double roi_begin = 0, roi_end = 1;  // tf_crop_and_resize

  double ratio() const {
    return exact ? static_cast<double>(out) / static_cast<double>(in) : static_cast<double>(scale);
  }
  bool same() const { return in == out && (exact || scale == 1) && roi_begin == 0 && roi_end == 1; }
};

/// How coordinates become elements: the attributes of Resize, without those that decide sizes.
struct ResizeRule {
  explicit ResizeRule(const NodeView& n);
  static Support supports(const NodeView& n);

  Interpolation interpolation = Interpolation::kNearest;
  std::string coordinates, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;

  /// The coordinate in the input of output element `i`.
  double source(const ResizeAxis& axis, int64_t i) const;
  /// Before version 11: the next one below, or above when the axis shrinks.
  int64_t nearest_element(double x, bool shrinks) const;
  /// Over how many elements the weights of one output element spread.
  double taps(const ResizeAxis& axis) const;
  /// Weights of the elements around x; sets `*first` to the first of them. The weights sum to 1.
  std::vector<double> weights(double x, double scale, int64_t* first) const;

 private:
  double kernel(double distance) const;
};

/// What one axis needs in a Run: `taps` elements and weights per output element; for nearest one element
/// without weight.
struct ResizeTable {
  int64_t in = 1, out = 1, taps = 1;
  std::vector<int64_t> index;    // out * taps, within [0, in); nearest: offset in the input
  std::vector<float> weight;     // out * taps; empty for nearest
  std::vector<uint8_t> outside;  // per output element, whether it gets the extrapolation value; or empty

  /// Lays out index and weight for rows of float32, unless an element is outside.
  void pack_row();
  bool has_row() const { return !row_index.empty(); }
  isa::ResizeRow row() const;

 private:
  std::vector<int32_t> row_index, row_base;  // as in isa::ResizeRow
  std::vector<float> row_weight;
};

ResizeTable make_resize_table(const PrepareContext& p, const ResizeRule& rule, const ResizeAxis& axis);

/// Interpolation of one axis. `around` holds the dims at that time.
struct ResizePass {
  size_t axis = 0;
  Around around;
};

struct ResizeState {
  Dims out;
  std::vector<ResizeTable> tables;  // one per axis
  std::vector<ResizePass> passes;   // the axes that change; those that shrink come first, to save work
};

/// Checks the shape of the result and sets output 0 before the tables take memory.
ResizeState prepare_resize(PrepareContext& p, const ResizeRule& rule, const std::vector<ResizeAxis>& axes);

/// Resizes input 0 to output 0.
void resize(const Context& ctx, const ResizeState& state, const ResizeRule& rule);

}  // namespace tenon::cpu
