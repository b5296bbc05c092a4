#version 450
// variants: item shared subgroup
// Softmax, LogSoftmax and Hardmax: a work-item or a work-group for each line of `count` elements at distance `inner`.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "group.glsl"

layout(constant_id = 3) const uint KERNEL = 0;  // the position of the name in kernels/softmax.cc
layout(constant_id = 4) const uint T = 1;

NUMBERS {
  uint x_at, y_at;
  int outer, count, inner;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };

void main() {
  EACH_ROW(i, inner, row, outer) {
    const uint from = uint(row * count * inner + i);
    float top = -1.0 / 0.0;
    EACH_OF(k, count) {
      const float v = LOAD_FLOAT(x, T, x_at + from + uint(k * inner));
      top = v > top || isnan(v) ? v : top;
    }
    top = group_max(top);
    if (KERNEL == 2u) {
      uint found = uint(count);
      EACH_OF(k, count) {
        if (found == uint(count) && LOAD_FLOAT(x, T, x_at + from + uint(k * inner)) == top) found = uint(k);
      }
      found = group_least(found);
      EACH_OF(k, count) STORE_FLOAT(y, T, y_at + from + uint(k * inner), uint(k) == found ? 1.0 : 0.0)
    } else {
      float sum = 0.0;
      EACH_OF(k, count) sum += exp(LOAD_FLOAT(x, T, x_at + from + uint(k * inner)) - top);
      sum = group_sum(sum);
      const float scale = 1.0 / sum, shift = top + log(sum);
      EACH_OF(k, count) {
        const float v = LOAD_FLOAT(x, T, x_at + from + uint(k * inner));
        STORE_FLOAT(y, T, y_at + from + uint(k * inner), KERNEL == 0u ? exp(v - top) * scale : v - shift)
      }
    }
  }
}
