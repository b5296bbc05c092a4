#version 450
// variants: tt8 tt4 tt1 wt8 wt1 ww8 ww1
// Matrix products of float32 and float16: y = alpha * a * b + beta * bias + addend, clamped, in batches. A work-item computes 8, 4 or 1 rows
// of 8 columns. The variant says how it reads a and b: t, as texels of four elements along the row (then depth, row strides and
// columns are multiples of four), or w, as words one by one.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

#if defined(IS_tt8) || defined(IS_tt4) || defined(IS_tt1)
#define A_TEXELS
#endif
#if !defined(IS_ww8) && !defined(IS_ww1)
#define B_TEXELS
#endif
#if defined(IS_tt1) || defined(IS_wt1) || defined(IS_ww1)
#define ROWS 1
#elif defined(IS_tt4)
#define ROWS 4
#else
#define ROWS 8
#endif

layout(constant_id = 4) const uint T = 1;
layout(constant_id = 5) const bool BY_FOUR = false;  // rows of y and addend are whole words of four float32
layout(constant_id = 6) const uint BIAS = 0;
layout(constant_id = 7) const bool CUT = true;
layout(constant_id = 8) const bool ADDS = false;
const uint NO_BIAS = 0, PER_ROW = 1, PER_COLUMN = 2, PER_ELEMENT = 3;  // as in kernels/common/gemm.cc

NUMBERS {
#if !defined(A_TEXELS)
  uint a_at;
#endif
#if !defined(B_TEXELS)
  uint b_at;
#endif
  uint bias_at, addend_at, y_at;
  Walk w;
  int rows, columns, depth, a_row, a_depth, b_depth, y_row, bias_row, bias_column;
  float alpha, beta, lowest, highest;
};
#if defined(A_TEXELS)
layout(binding = 1) uniform samplerBuffer a;
#else
layout(std430, binding = 1) readonly buffer A { uint a[]; };
#endif
#if defined(B_TEXELS)
layout(binding = 2) uniform samplerBuffer b;
#else
layout(std430, binding = 2) readonly buffer B { uint b[]; };
#endif
layout(std430, binding = 3) readonly buffer Bias { uint bias[]; };
layout(std430, binding = 4) readonly buffer Addend { uint addend[]; };
layout(std430, binding = 4) readonly buffer AddendByFour { vec4 addend_by_four[]; };
layout(std430, binding = 5) buffer Y { uint y[]; };
layout(std430, binding = 5) buffer YByFour { vec4 y_by_four[]; };

#if defined(B_TEXELS)
vec4 right(int at) { return texelFetch(b, at >> 2); }
#else
vec4 right(int at, int n) {
  // Columns beyond the last are not stored; they read the last one.
  return vec4(LOAD_FLOAT(b, T, b_at + uint(at)), LOAD_FLOAT(b, T, b_at + uint(at + min(1, n))),
              LOAD_FLOAT(b, T, b_at + uint(at + min(2, n))), LOAD_FLOAT(b, T, b_at + uint(at + min(3, n))));
}
#endif

float bias_of(int batch, int m, int n) {
  return beta * LOAD_FLOAT(bias, T, bias_at + uint(batch + m * bias_row + n * bias_column));
}
// The bias of four columns. Columns beyond the last are not stored; they read the last one.
vec4 bias_of_four(int batch, int m, int n) {
  const int last = columns - 1;
  return vec4(bias_of(batch, m, min(n, last)), bias_of(batch, m, min(n + 1, last)), bias_of(batch, m, min(n + 2, last)),
              bias_of(batch, m, min(n + 3, last)));
}

void finish(vec4 sum, vec4 added, int m, int n, int bias_batch, int y_batch) {
  const int count = min(columns - n, 4);
  vec4 v = sum * alpha + added;
  // A loop whose length the compiler does not know: unrolled, it takes seconds to compile.
  if (BIAS == PER_ELEMENT)
    for (int c = 0; c < count; ++c) v[c] += bias_of(bias_batch, m, n + c);
  const uint at = uint(y_batch + m * y_row + n);
  if (ADDS) {
    if (BY_FOUR) {
      if (count == 4) v += addend_by_four[(addend_at + at) >> 2];
    } else {
      for (int c = 0; c < count; ++c) v[c] += LOAD_FLOAT(addend, T, addend_at + at + uint(c));
    }
  }
  if (CUT) {
    const bvec4 is_below = lessThan(v, vec4(lowest)), is_above = greaterThan(v, vec4(highest));
    v = mix(mix(v, vec4(highest), is_above), vec4(lowest), is_below);
  }
  const uint to = y_at + at;
  if (BY_FOUR) {
    if (count == 4) y_by_four[to >> 2] = v;
  } else {
    for (int c = 0; c < count; ++c) STORE_FLOAT(y, T, to + uint(c), v[c])
  }
}

void compute(int m, int n, int a_batch, int b_batch, int bias_batch, int y_batch) {
  vec4 left[ROWS], right_half[ROWS];
  [[unroll]] for (int r = 0; r < ROWS; ++r) {
    left[r] = vec4(0);
    right_half[r] = vec4(0);
  }
  int from = b_batch + n;
#if !defined(B_TEXELS)
  const int n0 = columns - 1 - n, n1 = max(n0 - 4, 0), next = min(4, n0);
#define RIGHT0 right(from, n0)
#define RIGHT1 right(from + next, n1)
#else
#define RIGHT0 right(from)
#define RIGHT1 right(from + 4)
#endif
#if defined(A_TEXELS)
  for (int k = 0; k < depth; k += 4) {
    vec4 four[ROWS];
    [[unroll]] for (int r = 0; r < ROWS; ++r) four[r] = texelFetch(a, (a_batch + (m + r) * a_row + k) >> 2);
    [[unroll]] for (int j = 0; j < 4; ++j) {
      const vec4 u = RIGHT0, v = RIGHT1;
      [[unroll]] for (int r = 0; r < ROWS; ++r) {
        left[r] += four[r][j] * u;
        right_half[r] += four[r][j] * v;
      }
      from += b_depth;
    }
  }
#else
  for (int k = 0; k < depth; ++k) {
    const vec4 u = RIGHT0, v = RIGHT1;
    [[unroll]] for (int r = 0; r < ROWS; ++r) {
      const float one = LOAD_FLOAT(a, T, a_at + uint(a_batch + (m + r) * a_row + k * a_depth));
      left[r] += one * u;
      right_half[r] += one * v;
    }
    from += b_depth;
  }
#endif
  vec4 added = vec4(0), added_right = vec4(0);
  if (BIAS == PER_COLUMN) {
    added = bias_of_four(bias_batch, m, n);
    added_right = bias_of_four(bias_batch, m, n + 4);
  }
  [[unroll]] for (int r = 0; r < ROWS; ++r) {
    if (BIAS == PER_ROW) added = added_right = vec4(bias_of(bias_batch, m + r, 0));
    finish(left[r], added, m + r, n, bias_batch, y_batch);
    finish(right_half[r], added_right, m + r, n + 4, bias_batch, y_batch);
  }
}

void main() {
  const int tiles = (columns + 7) / 8, lines = (rows + ROWS - 1) / ROWS;
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
    // The last lines move inwards and overlap.
    EACH(tile, tiles, line, lines) compute(min(line * ROWS, rows - ROWS), tile * 8, a_batch, b_batch, bias_batch, y_batch);
  }
}
