#version 450
// variants: Batch Lines Lines_shared Lines_subgroup LinesAt LinesAt_shared LinesAt_subgroup LpNorm LpNorm_shared LpNorm_subgroup Lrn
// Normalisations, as tenon/ep/device/ops/normalization.hpp describes them.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "group.glsl"

layout(constant_id = 4) const uint T = 1;
layout(constant_id = 5) const uint S = 1;
layout(constant_id = 6) const uint P = 1;

#if defined(IS_Batch)
NUMBERS {
  uint x_at, scale_at, bias_at, mean_at, variance_at, y_at;
  int n, channels, inner;
  float epsilon;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) readonly buffer Scale { uint scale[]; };
layout(std430, binding = 3) readonly buffer Bias { uint bias[]; };
layout(std430, binding = 4) readonly buffer Mean { uint mean[]; };
layout(std430, binding = 5) readonly buffer Variance { uint variance[]; };
layout(std430, binding = 6) buffer Y { uint y[]; };

void main() {
  EACH(i, n, row, 1) {
    const int part = i / inner, c = part - part / channels * channels;
    const float factor = LOAD_FLOAT(scale, S, scale_at + uint(c)) / sqrt(LOAD_FLOAT(variance, P, variance_at + uint(c)) + epsilon);
    const float r = (LOAD_FLOAT(x, T, x_at + uint(i)) - LOAD_FLOAT(mean, P, mean_at + uint(c))) * factor +
                    LOAD_FLOAT(bias, S, bias_at + uint(c));
    STORE_FLOAT(y, T, y_at + uint(i), r)
  }
}
#elif defined(IS_Lines) || defined(IS_LinesAt)
NUMBERS {
  uint x_at, scale_at, bias_at, y_at, mean_at, inverse_at;
#if defined(IS_LinesAt)
  Walk w;
#endif
  int lines, count;
  float epsilon;
  int keeps_mean, has_scale, has_bias;
#if defined(IS_Lines)
  int modulo, spread;
#endif
  int has_mean, has_inverse;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) readonly buffer Scale { uint scale[]; };
layout(std430, binding = 3) readonly buffer Bias { uint bias[]; };
layout(std430, binding = 4) buffer Y { uint y[]; };
layout(std430, binding = 5) buffer Mean { uint out_mean[]; };
layout(std430, binding = 6) buffer Inverse { uint out_inverse[]; };

void main() {
  EACH_ROW(line, lines, row, 1) {
    const int from = line * count;
    float mean = 0.0, square = 0.0;
    if (keeps_mean == 0) {
      EACH_OF(k, count) mean += LOAD_FLOAT(x, T, x_at + uint(from + k));
      mean = group_sum(mean) / float(count);
    }
    EACH_OF(k, count) {
      const float v = LOAD_FLOAT(x, T, x_at + uint(from + k)) - mean;
      square += v * v;
    }
    const float inverse = 1.0 / sqrt(group_sum(square) / float(count) + epsilon);
#if defined(IS_Lines)
    const int base = (line - line / modulo * modulo) * (count / spread);
#endif
    EACH_OF(k, count) {
#if defined(IS_Lines)
      const int s = base + k / spread, b = s;
#else
      WALK2(w, from + k, s, b)
#endif
      float v = (LOAD_FLOAT(x, T, x_at + uint(from + k)) - mean) * inverse;
      if (has_scale != 0) v *= LOAD_FLOAT(scale, S, scale_at + uint(s));
      if (has_bias != 0) v += LOAD_FLOAT(bias, S, bias_at + uint(b));
      STORE_FLOAT(y, T, y_at + uint(from + k), v)
    }
    if (IS_FIRST && has_mean != 0) STORE_FLOAT(out_mean, P, mean_at + uint(line), mean)
    if (IS_FIRST && has_inverse != 0) STORE_FLOAT(out_inverse, P, inverse_at + uint(line), inverse)
  }
}
#elif defined(IS_LpNorm)
NUMBERS {
  uint x_at, y_at;
  int outer, count, inner, p;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };

void main() {
  EACH_ROW(i, inner, row, outer) {
    const int from = row * count * inner + i;
    float sum = 0.0;
    EACH_OF(k, count) {
      const float v = LOAD_FLOAT(x, T, x_at + uint(from + k * inner));
      sum += p == 1 ? abs(v) : v * v;
    }
    sum = group_sum(sum);
    const float norm = p == 1 ? sum : sqrt(sum);
    EACH_OF(k, count) {
      const float v = LOAD_FLOAT(x, T, x_at + uint(from + k * inner));
      STORE_FLOAT(y, T, y_at + uint(from + k * inner), norm == 0.0 ? 0.0 : v / norm)
    }
  }
}
#else
NUMBERS {
  uint x_at, y_at;
  int inner, channels, outer, size;
  float alpha, beta, bias;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };

void main() {
  EACH(i, inner, row, outer) {
    const int c = row - row / channels * channels;
    const int begin = max(0, c - (size - 1) / 2), end = min(channels - 1, c + size / 2);
    float sum = 0.0;
    for (int k = begin; k <= end; ++k) {
      const float v = LOAD_FLOAT(x, T, x_at + uint((row + k - c) * inner + i));
      sum += v * v;
    }
    const float v = LOAD_FLOAT(x, T, x_at + uint(row * inner + i)) / pow(bias + alpha / float(size) * sum, beta);
    STORE_FLOAT(y, T, y_at + uint(row * inner + i), v)
  }
}
#endif
