#version 450
// variants: Nearest Linear
// Resize, as tenon/ep/device/ops/resize.hpp describes it. Nearest moves elements of BYTES; Linear computes with elements of type T.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

#if defined(IS_Nearest)
layout(constant_id = 4) const uint BYTES = 4;
#else
layout(constant_id = 4) const uint T = 1;
#endif

NUMBERS {
  uint x_at, y_at;
  int rank, clips, zero[2];
  int rounding[8];
  int out_[8];
  int in_[8];
  int stride[8];
  int whole[8];
  float add[8];
  float multiply[8];
  float divide[8];
  float offset[8];
  int n;
  uint low, high;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };

float source(int d, int at) {
  // No fused operations: nearest neighbours depend on the last bit.
  precise const float shifted = (float(at) + add[d]) * multiply[d];
  precise const float scaled = shifted / divide[d];
  precise const float place = scaled + offset[d];
  return whole[d] != 0 ? float(at) : place;
}

void main() {
  EACH(i, n, row, 1) {
    bool inside = true;
    int rest = i;
#if defined(IS_Nearest)
    int from = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const int next = rest / out_[d];
      const float s = source(d, rest - next * out_[d]);
      rest = next;
      if (clips != 0 && (s < 0.0 || s > float(in_[d] - 1))) inside = false;
      const float v = rounding[d] == 0   ? ceil(s - 0.5)
                      : rounding[d] == 1 ? floor(s + 0.5)
                      : rounding[d] == 2 ? floor(s)
                                         : ceil(s);
      from += clamp(int(v), 0, in_[d] - 1) * stride[d];
    }
    const uint to = y_at + uint(i);
    if (inside) {
      MOVE(y, to, x, x_at + uint(from), BYTES)
    } else if (BYTES == 8u) {
      y[2 * to] = low;
      y[2 * to + 1] = high;
    } else if (BYTES == 4u) {
      y[to] = low;
    } else {
      STORE_PART(y, to, BYTES * 8u, low)
    }
#else
    int base = 0, axes = 0, step[8];
    float part[8];
    for (int d = rank - 1; d >= 0; --d) {
      const int next = rest / out_[d];
      const float s = source(d, rest - next * out_[d]);
      rest = next;
      if (clips != 0 && (s < 0.0 || s > float(in_[d] - 1))) inside = false;
      const float lower = clamp(floor(s), 0.0, float(in_[d] - 1));
      base += int(lower) * stride[d];
      if (whole[d] != 0) continue;
      part[axes] = clamp(s - lower, 0.0, 1.0);
      step[axes++] = int(lower) + 1 < in_[d] ? stride[d] : 0;
    }
    float sum = 0.0;
    for (int corner = 0; corner < 1 << axes; ++corner) {
      float weight = 1.0;
      int at = base;
      for (int k = 0; k < axes; ++k) {
        const bool upper = (corner >> k & 1) != 0;
        weight *= upper ? part[k] : 1.0 - part[k];
        at += upper ? step[k] : 0;
      }
      if (weight != 0.0) sum += weight * LOAD_FLOAT(x, T, x_at + uint(at));
    }
    const float result = inside ? sum : uintBitsToFloat(low);
    STORE_FLOAT(y, T, y_at + uint(i), result)
#endif
  }
}
