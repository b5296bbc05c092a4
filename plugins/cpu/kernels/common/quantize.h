// Scales and zero points of quantised numbers, and conversion from and to float.
#pragma once

#include <cmath>

#include "isa/integer.h"
#include "kernels/common/checked.h"
#include "kernels/common/lines.h"

namespace tenon::cpu {

inline constexpr auto kQuantizedTypes = TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t>() +
                                        kSmallIntTypes + kFloat8Types +
                                        TypeList<Float4E2M1, Float6E2M3, Float6E3M2>();

/// Consecutive elements with one scale, or with one scale each.
struct ScaleLine {
  int64_t at = 0, n = 0;  // elements of the data
  int64_t scale = 0;      // the (first) element of the scale
  bool each = false;
};

/// The scale of each element: one for the tensor, one per slice of the axis, or one per block along it.
class ScaleMap {
 public:
  /// `block` 0: the shape of the scale decides between tensor and axis.
  ScaleMap(DimsView data, DimsView scale, int64_t axis, int64_t block);

  /// The data are that many lines.
  int64_t lines() const { return lines_; }
  ScaleLine line(int64_t i) const;
  /// Calls f(line) for every line, on several threads unless `serial`. Lines of a small type may share bytes.
  template <class F>
  void for_lines(const Context& ctx, bool serial, F&& f) const {
    if (lines_ == 0) return;
    const int64_t grain =
        serial ? lines_ : std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, longest_));
    ctx.parallel_for(lines_, grain, [&](int64_t begin, int64_t end) {
      CancelPoint point(ctx);
      for (int64_t i = begin; i < end; ++i) {
        point.pass(longest_);
        f(line(i));
      }
    });
  }

 private:
  static constexpr int64_t kChunk = 16384;  // elements of a line of a tensor with one scale; even
  enum Kind { kTensor, kAxis, kBlock } kind_;
  Around at_;
  int64_t block_ = 1, blocks_ = 1;
  int64_t lines_ = 0, longest_ = 0;
};

/// Any numeric tensor as floats: its own memory or a copy in scratch memory. A missing one gives `count`
/// zeros.
std::span<const float> as_floats(const Context& ctx, TensorView tensor, int64_t count = 0);

/// The nearest integer, ties to even. nearbyint() is a library call on baseline processors. Adding and
/// subtracting a number whose last bit is worth 1 does the same in the default rounding mode, which Runs have.
inline double round_to_even(double x) {
  constexpr double kUnit = 0x1.8p52;
  return std::abs(x) < 0x1p51 ? (x + kUnit) - kUnit : x;
}

/// round(x) + zero point, saturated to T. Ties go to even, as ONNX requires.
template <class T>
T quantize(float x, float zero, bool saturate) {
  if constexpr (kIsFloat<T>) {
    return T::from(static_cast<double>(x), saturate);
  } else {
    constexpr double kLow = [] {
      if constexpr (std::is_integral_v<T>)
        return static_cast<double>(std::numeric_limits<T>::lowest());
      else
        return static_cast<double>(T::kLowest);
    }();
    constexpr double kHigh = [] {
      if constexpr (std::is_integral_v<T>)
        return static_cast<double>(std::numeric_limits<T>::max());
      else
        return static_cast<double>(T::kHighest);
    }();
    const double rounded = round_to_even(static_cast<double>(x)) + static_cast<double>(zero);
    // The order of the comparisons turns NaN into kLow.
    return static_cast<T>(static_cast<int64_t>(rounded >= kHigh ? kHigh : rounded > kLow ? rounded : kLow));
  }
}

using isa::Rounding;

/// Rounding to int8, uint8, int16 or uint16 as quantize() does it.
inline Rounding rounding_of(uint32_t dtype, float zero) {
  switch (dtype) {
    case TENON_INT8:
      return {zero, -128, 127};
    case TENON_UINT8:
      return {zero, 0, 255};
    case TENON_INT16:
      return {zero, -32768, 32767};
    default:
      return {zero, 0, 65535};
  }
}

}  // namespace tenon::cpu
