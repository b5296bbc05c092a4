#version 450
// variants: float int uint long ulong
// A matrix product with one element per work-item, for integers and for few columns. beta is 0 without a bias.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 4) const uint T = 1;
layout(constant_id = 5) const bool ADDS = false;

NUMBERS {
  uint a_at, b_at, bias_at, addend_at, y_at;
  Walk w;
  int rows, columns, depth, a_row, a_depth, b_depth, y_row, bias_row, bias_column;
  float alpha, beta, lowest, highest;
};
layout(std430, binding = 1) readonly buffer A { uint a[]; };
layout(std430, binding = 2) readonly buffer B { uint b[]; };
layout(std430, binding = 3) readonly buffer Bias { uint bias[]; };
layout(std430, binding = 4) readonly buffer Addend { uint addend[]; };
layout(std430, binding = 5) buffer Y { uint y[]; };

void main() {
  for (int batch = int(gl_GlobalInvocationID.z); batch < w.outer; batch += int(gl_NumWorkGroups.z * gl_WorkGroupSize.z)) {
    int a_batch = 0, b_batch = 0, y_batch = 0, bias_batch = 0;
    for (int d = w.rank - 1, r = batch; d >= 0; --d) {
      const int q = r / w.size[d], at = r - q * w.size[d];
      a_batch += at * w.stride[0][d];
      b_batch += at * w.stride[1][d];
      y_batch += at * w.stride[2][d];
      bias_batch += at * w.stride[3][d];
      r = q;
    }
    EACH(n, columns, m, rows) {
      const uint at = uint(y_batch + m * y_row + n);
      C sum = C(0);
      for (int k = 0; k < depth; ++k) {
        const C x = LOAD(a, T, a_at + uint(a_batch + m * a_row + k * a_depth));
        sum += x * LOAD(b, T, b_at + uint(b_batch + k * b_depth + n));
      }
#if defined(IS_float)
      sum *= alpha;
      if (beta != 0.0) sum += beta * LOAD(bias, T, bias_at + uint(bias_batch + m * bias_row + n * bias_column));
      if (ADDS) sum += LOAD(addend, T, addend_at + at);
      if (lowest != highest) sum = sum < lowest ? lowest : sum > highest ? highest : sum;
#else
      if (beta != 0.0) sum += LOAD(bias, T, bias_at + uint(bias_batch + m * bias_row + n * bias_column));
#endif
      STORE(y, T, y_at + at, sum)
    }
  }
}
