// Axes, strides and broadcasting of shapes.
#pragma once

#include "tenon/ep.hpp"

namespace tenon::cpu {

using namespace tenon::ep;

/// Counts a negative axis from the end. Throws an Error outside the rank.
inline int normalize_axis(int64_t axis, int rank) {
  require(axis >= -rank && axis < rank, TENON_INVALID_ARGUMENT, "axis ", axis, " is out of range for rank ",
          rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

/// Sorted. Throws an Error for duplicates.
inline std::vector<int> normalize_axes(std::span<const int64_t> axes, int rank) {
  std::vector<int> out;
  for (const int64_t axis : axes) out.push_back(normalize_axis(axis, rank));
  std::sort(out.begin(), out.end());
  require(std::adjacent_find(out.begin(), out.end()) == out.end(), TENON_INVALID_ARGUMENT,
          "an axis is named twice");
  return out;
}

/// For strides: without elements the product of the other dims may overflow, but is not used.
inline int64_t wrapping_product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// Dense row-major strides, in elements.
inline Dims strides_of(DimsView dims) {
  Dims out(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    out[i] = stride;
    stride = wrapping_product(stride, dims[i]);
  }
  return out;
}

/// Product of dims [first, last).
inline int64_t count_between(DimsView dims, int first, int last) {
  return element_count(dims.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first)));
}

/// Numpy's rule for two shapes.
inline Dims broadcast_dims(DimsView a, DimsView b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {  // from the last dim on
    const int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1, db = i < b.size() ? b[b.size() - 1 - i] : 1;
    require(da == db || da == 1 || db == 1, TENON_INVALID_ARGUMENT, "shapes ", a, " and ", b,
            " do not broadcast");
    out[out.size() - 1 - i] = da == 1 ? db : da;
  }
  return out;
}

/// Counts through indices; the last one moves fastest.
///   for (Odometer at(dims); !at.done(); at.next()) use(at.index());
class Odometer {
 public:
  explicit Odometer(DimsView dims) : dims_(dims), index_(dims.size()), done_(element_count(dims) == 0) {}
  bool done() const { return done_; }
  const Dims& index() const { return index_; }
  void next() {
    for (size_t i = dims_.size(); i-- > 0;) {
      if (++index_[i] < dims_[i]) return;
      index_[i] = 0;
    }
    done_ = true;
  }

 private:
  DimsView dims_;
  Dims index_;
  bool done_;
};

/// For long loops: checks now and then for cancellation.
template <class AnyContext>
class CancelPoint {
 public:
  explicit CancelPoint(const AnyContext& ctx) : ctx_(ctx) {}
  /// Call for every `steps` elements of work.
  void pass(int64_t steps = 1) {
    if ((left_ -= steps) > 0) return;
    left_ = kBetween;
    ctx_.check_cancelled();
  }

 private:
  static constexpr int64_t kBetween = 1 << 20;
  const AnyContext& ctx_;
  int64_t left_ = kBetween;
};

// The smallest piece of work worth a task of its own, in elements.
inline constexpr int64_t kGrainCheap = 16384;    // a load, an addition, a store
inline constexpr int64_t kGrainCostly = 2048;    // a call of libm
inline constexpr int64_t kGrainFlops = 1 << 17;  // multiply-adds of a matrix product or a convolution

}  // namespace tenon::cpu
