// Quantised numbers: how scales and zero points spread over a tensor, and the loops from and to float.
#pragma once

#include <cmath>

#include "kernels/common/lines.h"

namespace tenon::cpu {

inline constexpr auto kQuantizedTypes = TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t>() +
                                        kSmallIntTypes + kFloat8Types +
                                        TypeList<Float4E2M1, Float6E2M3, Float6E3M2>();

/// Which scale an element has: one for the tensor, one for each slice of the axis, or one for each block
/// along it.
class ScaleMap {
 public:
  /// `block` 0: the shape of the scale decides between the tensor and the axis.
  ScaleMap(DimsView data, DimsView scale, int64_t axis, int64_t block);
  int64_t outer() const { return at_.outer; }
  int64_t axis() const { return at_.axis; }
  int64_t inner() const { return at_.inner; }
  /// Of element (outer o, axis a, inner i). When step() is 0 it is the same for all i.
  int64_t index(int64_t o, int64_t a) const {
    return kind_ == kTensor ? 0 : kind_ == kAxis ? a : (o * blocks_ + a / block_) * at_.inner;
  }
  int64_t step() const { return kind_ == kBlock ? 1 : 0; }

 private:
  enum Kind { kTensor, kAxis, kBlock } kind_;
  Around at_;
  int64_t block_ = 1, blocks_ = 1;
};

/// Any numeric tensor as floats, in scratch memory; packed types too. Missing: `count` zeros.
std::span<const float> as_floats(const Context& ctx, TensorView tensor, int64_t count = 0);

/// round(x) + zero point, saturated to T. Ties to even, as ONNX asks for.
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
    const double rounded = std::nearbyint(static_cast<double>(x)) + static_cast<double>(zero);
    // NaN becomes 0 by the comparison order
    return static_cast<T>(static_cast<int64_t>(rounded >= kHigh ? kHigh : rounded > kLow ? rounded : kLow));
  }
}

}  // namespace tenon::cpu
