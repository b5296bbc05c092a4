// Scales and zero points of quantised numbers, and conversion from and to float.
#pragma once

#include <cmath>

#include "kernels/common/lines.h"

namespace tenon::cpu {

inline constexpr auto kQuantizedTypes = TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t>() +
                                        kSmallIntTypes + kFloat8Types +
                                        TypeList<Float4E2M1, Float6E2M3, Float6E3M2>();

/// The scale of each element: one for the tensor, one per slice of the axis, or one per block along it.
class ScaleMap {
 public:
  /// `block` 0: the shape of the scale decides between tensor and axis.
  ScaleMap(DimsView data, DimsView scale, int64_t axis, int64_t block);
  int64_t outer() const { return at_.outer; }
  int64_t axis() const { return at_.axis; }
  int64_t inner() const { return at_.inner; }
  /// Calls f(i, scale, zero) for the inner elements i at (outer o, axis a). Both lists are as long as the
  /// scale tensor.
  template <class F>
  void for_line(std::span<const float> scales, std::span<const float> zeros, int64_t o, int64_t a,
                F&& f) const {
    const int64_t first = kind_ == kTensor ? 0 : kind_ == kAxis ? a : (o * blocks_ + a / block_) * at_.inner;
    const float *scale = scales.data() + first, *zero = zeros.data() + first;
    if (kind_ == kBlock) {
      for (int64_t i = 0; i < at_.inner; ++i) f(i, scale[i], zero[i]);
    } else {
      for (int64_t i = 0; i < at_.inner; ++i) f(i, *scale, *zero);
    }
  }

 private:
  enum Kind { kTensor, kAxis, kBlock } kind_;
  Around at_;
  int64_t block_ = 1, blocks_ = 1;
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

}  // namespace tenon::cpu
