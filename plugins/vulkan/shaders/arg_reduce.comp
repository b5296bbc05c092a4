#version 450
// variants: float float_shared float_subgroup int uint long ulong
// ArgMax and ArgMin: a work-item or a work-group for each output element. NaN counts as the largest and the smallest number. The first one wins.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "group.glsl"
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

#if defined(IS_GROUP)
// The place of the best element of a group whose members found `s` at `best`, or nothing (-1).
int best_of_group(float s, int best) {
  const float none = KERNEL == 0u ? -1.0 / 0.0 : 1.0 / 0.0;
  const float found = KERNEL == 0u ? group_max(best < 0 ? none : s) : group_min(best < 0 ? none : s);
  const bool is_here = best >= 0 && (isnan(found) ? isnan(s) : s == found);
  return int(last != 0 ? group_most(is_here ? uint(best) : 0u) : group_least(is_here ? uint(best) : 0xffffffffu));
}
#else
#define best_of_group(s, best) best
#endif

void main() {
  EACH_ROW(i, kept.inner, row, kept.outer) {
    WALK1(kept, row, from)
    from += i * kept.step[0];
    int best = -1;
    C s = C(0);
    EACH_OF(k, count) {
      const C v = LOAD(x, T, x_at + uint(from + k * stride));
      if (best < 0 || beats(v, s) || (last != 0 && !beats(s, v))) {
        s = v;
        best = k;
      }
    }
    best = best_of_group(s, best);
    if (IS_FIRST) {
      const uint to = 2 * (y_at + uint(row * kept.inner + i));
      y[to] = uint(best);
      y[to + 1] = 0u;
    }
  }
}
