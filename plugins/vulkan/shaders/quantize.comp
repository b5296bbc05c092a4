#version 450
// QuantizeLinear (KERNEL 0) and DequantizeLinear (1): a work-item for each element. 8-bit integers, or int32 to dequantise.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint KERNEL = 0;
layout(constant_id = 4) const uint T = 1;
layout(constant_id = 5) const uint R = 2;

NUMBERS {
  uint x_at, scale_at, zero_at, y_at;
  int n, inner, channels, has_zero;
  float low, high;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) readonly buffer Scale { uint scale[]; };
layout(std430, binding = 3) readonly buffer Zero { uint zero[]; };
layout(std430, binding = 4) buffer Y { uint y[]; };

void main() {
  EACH(i, n, row, 1) {
    const int part = i / inner, c = part - part / channels * channels;
    const float s = uintBitsToFloat(scale[scale_at + uint(c)]);
    if (KERNEL == 0u) {
      const int z = has_zero != 0 ? LOAD_INT(zero, R, zero_at + uint(c)) : 0;
      const float v = roundEven(uintBitsToFloat(x[x_at + uint(i)]) / s) + float(z);
      STORE_INT(y, R, y_at + uint(i), int(clamp(v, low, high)))
    } else {
      const int z = has_zero != 0 ? LOAD_INT(zero, T, zero_at + uint(c)) : 0;
      y[y_at + uint(i)] = floatBitsToUint(float(LOAD_INT(x, T, x_at + uint(i)) - z) * s);
    }
  }
}
