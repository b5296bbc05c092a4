#version 450
// variants: float int uint long ulong
// ArgMax and ArgMin: a work-item for each output element. NaN counts as the largest and the smallest number. The first one wins.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 3) const uint KERNEL = 0;  // 0: ArgMax, 1: ArgMin
layout(constant_id = 4) const uint T = 1;

NUMBERS {
  uint x_at, y_at;
  Walk kept;
  int count, stride, last;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };

bool beats(C a, C b) {
#if defined(IS_float)
  if (isnan(b)) return false;
  if (isnan(a)) return true;
#endif
  return KERNEL == 0u ? a > b : a < b;
}

void main() {
  EACH(i, kept.inner, row, kept.outer) {
    WALK1(kept, row, from)
    from += i * kept.step[0];
    int best = 0;
    C s = LOAD(x, T, x_at + uint(from));
    for (int k = 1; k < count; ++k) {
      const C v = LOAD(x, T, x_at + uint(from + k * stride));
      if (beats(v, s) || (last != 0 && !beats(s, v))) {
        s = v;
        best = k;
      }
    }
    const uint to = 2 * (y_at + uint(row * kept.inner + i));
    y[to] = uint(best);
    y[to + 1] = 0u;
  }
}
