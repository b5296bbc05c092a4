#version 450
// variants: float float_shared float_subgroup int uint long ulong
// Reductions: a work-item or a work-group for each output element.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "group.glsl"
#include "types.glsl"

layout(constant_id = 3) const uint KERNEL = 0;  // the position of the name in kernels/reduce.cc
layout(constant_id = 4) const uint T = 1;
const uint SUM = 0, SUM_SQUARE = 1, MEAN = 2, PROD = 3, MAX = 4, MIN = 5, L1 = 6, L2 = 7, LOG_SUM = 8, LOG_SUM_EXP = 9,
           ARG_MAX = 10, ARG_MIN = 11;

NUMBERS {
  uint x_at, y_at;
  Walk kept;
  Walk reduced;
  int count;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };

C first_value() {
#if defined(IS_float)
  return KERNEL == MAX ? -1.0 / 0.0 : KERNEL == MIN ? 1.0 / 0.0 : KERNEL == PROD ? 1.0 : 0.0;
#elif defined(IS_long)
  const C high = (C(0x7fffffff) << 32) | C(0xffffffffu);
  return KERNEL == MAX ? -high - C(1) : KERNEL == MIN ? high : KERNEL == PROD ? C(1) : C(0);
#elif defined(IS_int)
  return KERNEL == MAX ? -0x7fffffff - 1 : KERNEL == MIN ? 0x7fffffff : KERNEL == PROD ? 1 : 0;
#else
  return KERNEL == MIN ? ~C(0) : KERNEL == PROD ? C(1) : C(0);
#endif
}
C add(C s, C v) {
  switch (KERNEL) {
    case SUM:
    case MEAN:
    case LOG_SUM: return s + v;
    case SUM_SQUARE:
    case L2: return s + v * v;
    case PROD: return s * v;
#if defined(IS_float)
    case MAX: return isnan(s) ? s : isnan(v) ? v : max(s, v);
    case MIN: return isnan(s) ? s : isnan(v) ? v : min(s, v);
    case L1: return s + abs(v);
#else
    case MAX: return s > v ? s : v;
    case MIN: return s < v ? s : v;
    case L1: return v < C(0) ? s - v : s + v;
#endif
    default: return s;
  }
}
C end_value(C s) {
#if defined(IS_float)
  return KERNEL == MEAN ? s / float(count) : KERNEL == L2 ? sqrt(s) : KERNEL == LOG_SUM ? log(s) : s;
#else
  return KERNEL == MEAN ? (count == 0 ? C(0) : s / C(count)) : s;
#endif
}

#if defined(IS_float)
// Of what the members of a group found.
float of_group(float s) {
  return KERNEL == MAX ? group_max(s) : KERNEL == MIN ? group_min(s) : KERNEL == PROD ? group_product(s) : group_sum(s);
}
#else
#define of_group(s) s
#endif

void main() {
  EACH_ROW(i, kept.inner, row, kept.outer) {
    WALK1(kept, row, from)
    from += i * kept.step[0];
    C s = first_value();
#if defined(IS_float)
    float top = -1.0 / 0.0, base = 0.0;
    if (KERNEL == LOG_SUM_EXP) {
      for (int r = 0; r < reduced.outer; ++r) {
        WALK1(reduced, r, at)
        EACH_OF(k, reduced.inner) top = max(top, LOAD(x, T, x_at + uint(from + at + k * reduced.step[0])));
      }
      top = group_max(top);
      base = isinf(top) ? 0.0 : top;
    }
#endif
    for (int r = 0; r < reduced.outer; ++r) {
      WALK1(reduced, r, at)
      EACH_OF(k, reduced.inner) {
        const C v = LOAD(x, T, x_at + uint(from + at + k * reduced.step[0]));
#if defined(IS_float)
        s = KERNEL == LOG_SUM_EXP ? s + exp(v - base) : add(s, v);
#else
        s = add(s, v);
#endif
      }
    }
    C result = end_value(of_group(s));
#if defined(IS_float)
    if (KERNEL == LOG_SUM_EXP) result = base + log(result);
#endif
    if (IS_FIRST) STORE(y, T, y_at + uint(row * kept.inner + i), result)
  }
}
