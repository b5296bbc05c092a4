#version 450
// Softmax, LogSoftmax and Hardmax: a work-item for each line of `count` elements at distance `inner`.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint KERNEL = 0;  // the position of the name in kernels/softmax.cc
layout(constant_id = 4) const uint T = 1;

NUMBERS {
  uint x_at, y_at;
  int outer, count, inner;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };

void main() {
  EACH(i, inner, row, outer) {
    const uint from = uint(row * count * inner + i);
    float top = -1.0 / 0.0;
    for (int k = 0; k < count; ++k) {
      const float v = LOAD_FLOAT(x, T, x_at + from + uint(k * inner));
      top = v > top || isnan(v) ? v : top;
    }
    float sum = 0.0;
    for (int k = 0; k < count && KERNEL != 2u; ++k) sum += exp(LOAD_FLOAT(x, T, x_at + from + uint(k * inner)) - top);
    const float scale = 1.0 / sum, shift = top + log(sum);
    bool found = false;
    for (int k = 0; k < count; ++k) {
      const float v = LOAD_FLOAT(x, T, x_at + from + uint(k * inner));
      float r = KERNEL == 0u ? exp(v - top) * scale : v - shift;
      if (KERNEL == 2u) {
        const bool here = !found && v == top;
        found = found || here;
        r = here ? 1.0 : 0.0;
      }
      STORE_FLOAT(y, T, y_at + from + uint(k * inner), r)
    }
  }
}
