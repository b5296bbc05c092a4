#version 450
// variants: float int uint long ulong
// CumSum: a work-item for each line.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 4) const uint T = 1;

NUMBERS {
  uint x_at, y_at;
  int outer, count, inner, exclusive, reverse;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };

void main() {
  EACH(i, inner, row, outer) {
    C sum = C(0);
    for (int k = 0; k < count; ++k) {
      const uint at = uint((row * count + (reverse != 0 ? count - 1 - k : k)) * inner + i);
      const C v = LOAD(x, T, x_at + at);
      const C r = exclusive != 0 ? sum : sum + v;
      STORE(y, T, y_at + at, r)
      sum += v;
    }
  }
}
