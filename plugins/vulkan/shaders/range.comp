#version 450
// variants: Range RangeOfInts
// Arithmetic progressions, as tenon/ep/device/ops/range.hpp describes them.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 4) const uint T = 1;

NUMBERS {
  uint y_at;
  int n;
#if defined(IS_Range)
  float start, step_;
#else
  uint start_low, start_high, step_low, step_high;
#endif
};
layout(std430, binding = 1) buffer Y { uint y[]; };

void main() {
  EACH(i, n, row, 1) {
    const uint at = y_at + uint(i);
#if defined(IS_Range)
    STORE_FLOAT(y, T, at, start + float(i) * step_)
#else
    // start + i * step in 64 bits, of which types of fewer bits keep the lower ones.
    uint high, low, carry;
    umulExtended(uint(i), step_low, high, low);
    high += uint(i) * step_high;
    low = uaddCarry(low, start_low, carry);
    high += start_high + carry;
    if (T == INT64) {
      y[2 * at] = low;
      y[2 * at + 1] = high;
    } else {
      STORE_INT(y, T, at, low)
    }
#endif
  }
}
