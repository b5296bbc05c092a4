#version 450
// Cast from T to R: a work-item for each element. Integers are pairs of words, so that a device without 64-bit integers can do it.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 4) const uint T = 1;
layout(constant_id = 5) const uint R = 1;

NUMBERS {
  uint x_at, y_at;
  int n;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };

const bool FROM_REAL = T == FLOAT32 || T == FLOAT16, TO_REAL = R == FLOAT32 || R == FLOAT16;
const bool FROM_UNSIGNED = T == UINT32 || T == UINT64;

// Low and high word. Numbers beyond 64 bits become the lowest one, as on most processors.
uvec2 words_of(float v) {
  const float a = abs(trunc(v));
  if (!(a < 9223372036854775808.0)) {
    if (v >= 9223372036854775808.0 && v < 18446744073709551616.0 && R == UINT64) return uvec2(0u, uint(v / 4294967296.0));
    return uvec2(0u, 0x80000000u);
  }
  const uint high = uint(a / 4294967296.0), low = uint(a - float(high) * 4294967296.0);
  return v < 0.0 ? uvec2(0u - low, ~high + (low == 0u ? 1u : 0u)) : uvec2(low, high);
}
// The nearest number, by rounding once: the bits beyond the first 32 only tell which way.
float float_of(uvec2 words) {
  const bool negative = !FROM_UNSIGNED && int(words.y) < 0;
  uvec2 m = negative ? uvec2(0u - words.x, ~words.y + (words.x == 0u ? 1u : 0u)) : words;
  float r;
  if (m.y == 0u) {
    r = float(m.x);
  } else {
    const int shift = findMSB(m.y) + 1;  // 1 to 32
    const uint rest = shift == 32 ? m.x : m.x & ((1u << shift) - 1u);
    const uint top = shift == 32 ? m.y : (m.y << (32 - shift)) | (m.x >> shift);
    r = ldexp(float(top | (rest != 0u ? 1u : 0u)), shift);
  }
  return negative ? -r : r;
}

void main() {
  EACH(i, n, row, 1) {
    const uint from = x_at + uint(i), to = y_at + uint(i);
    float v = 0.0;
    uvec2 words = uvec2(0u);
    if (FROM_REAL) {
      v = LOAD_FLOAT(x, T, from);
    } else if (T == INT64 || T == UINT64) {
      words = uvec2(x[2 * from], x[2 * from + 1]);
    } else {
      const int low = LOAD_INT(x, T, from);
      words = uvec2(uint(low), !FROM_UNSIGNED && low < 0 ? 0xffffffffu : 0u);
    }
    if (R == BOOL) {
      const bool r = FROM_REAL ? v != 0.0 : (words.x | words.y) != 0u;
      STORE_PART(y, to, 8u, r ? 1u : 0u)
    } else if (TO_REAL) {
      const float r = FROM_REAL ? v : float_of(words);
      STORE_FLOAT(y, R, to, r)
    } else {
      if (FROM_REAL) words = words_of(v);
      if (R == INT64 || R == UINT64) {
        y[2 * to] = words.x;
        y[2 * to + 1] = words.y;
      } else {
        STORE_INT(y, R, to, words.x)
      }
    }
  }
}
