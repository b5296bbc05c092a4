#version 450
// Pad: each output element computes its source, axis by axis. Operand 0 of the walk is x. Per axis, size is the output's size,
// stride[1] the padding before and stride[2] the size of x.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 4) const uint BYTES = 4;

NUMBERS {
  uint x_at, value_at, y_at;
  Walk w;
  int n, mode, has_value;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) readonly buffer Value { uint value[]; };
layout(std430, binding = 3) buffer Y { uint y[]; };

void main() {
  EACH(i, n, row, 1) {
    int from = 0;
    bool inside = true;
    for (int d = w.rank - 1, r = i; d >= 0; --d) {
      const int q = r / w.size[d], size = w.stride[2][d];
      int at = r - q * w.size[d] - w.stride[1][d];
      r = q;
      if (at < 0 || at >= size) {
        if (mode == 0) inside = false;
        if (mode == 1) at = at < 0 ? 0 : size - 1;
        if (mode == 2) {
          const int period = size > 1 ? 2 * size - 2 : 1;
          at -= period * int(floor(float(at) / float(period)));  // near 0, then exactly
          at = at < 0 ? at + period : at >= period ? at - period : at;
          at = at < size ? at : period - at;
        }
        if (mode == 3) {
          at -= size * int(floor(float(at) / float(size)));
          at = at < 0 ? at + size : at >= size ? at - size : at;
        }
      }
      from += at * w.stride[0][d];
    }
    const uint to = y_at + uint(i);
    if (inside) {
      MOVE(y, to, x, x_at + uint(from), BYTES)
    } else if (has_value != 0) {
      MOVE(y, to, value, value_at, BYTES)
    } else if (BYTES == 4u) {
      y[to] = 0u;
    } else if (BYTES == 8u) {
      y[2 * to] = 0u;
      y[2 * to + 1] = 0u;
    } else {
      STORE_PART(y, to, BYTES * 8u, 0u)
    }
  }
}
