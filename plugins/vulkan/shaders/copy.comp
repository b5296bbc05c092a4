#version 450
// y[y_start + walk of operand 1] = x[x_start + walk of operand 0].
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 4) const uint BYTES = 4;

NUMBERS {
  uint x_at, y_at;
  Walk w;
  int x_start, y_start;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };

void main() {
  EACH(i, w.inner, row, w.outer) {
    WALK2(w, row, from, to)
    const uint at = y_at + uint(y_start + to + i * w.step[1]);
    MOVE(y, at, x, x_at + uint(x_start + from + i * w.step[0]), BYTES)
  }
}
