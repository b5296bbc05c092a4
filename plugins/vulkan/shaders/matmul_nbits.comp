#version 450
// variants: row tile
// MatMulNBits, as tenon/ep/device/ops/matmul_nbits.hpp describes it. The variant says how many rows a work-item computes: one or four.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

#if defined(IS_tile)
#define ROWS 4
#else
#define ROWS 1
#endif

layout(constant_id = 4) const uint T = 1;
layout(constant_id = 5) const int BITS = 4;
layout(constant_id = 6) const int ZEROS = 0;
layout(constant_id = 7) const bool LAID = true;
layout(constant_id = 8) const int WIDTH = 1;  // at most MOST
const int PER_WORD = 32 / BITS;
const int MOST = 8;

struct Sizes {
  int rows, columns, depth, blocks, block_size, block_words, column_stride, word_stride, zeros_stride, has_bias;
};
NUMBERS {
  uint a_at, b_at, scales_at, zeros_at, bias_at, y_at;
  Sizes s;
};
layout(std430, binding = 1) readonly buffer A { uint a[]; };
layout(std430, binding = 2) readonly buffer B { uint b[]; };
layout(std430, binding = 3) readonly buffer Scales { uint scales[]; };
layout(std430, binding = 4) readonly buffer Zeros { uint zeros[]; };
layout(std430, binding = 5) readonly buffer Bias { uint bias[]; };
layout(std430, binding = 6) buffer Y { uint y[]; };

// Weights that are laid out are words; others are bytes, and begin at a word like every tensor.
uint word_at(int at) { return b[(LAID ? b_at : b_at >> 2) + uint(at)]; }

float weight_of(uint word, int j) { return float(bitfieldExtract(word, j * BITS, BITS)); }

float zero_of(int n, int block) {
  const uint line = zeros_at + uint(n * s.zeros_stride);
  if (ZEROS == 2) return LOAD_FLOAT(zeros, T, line + uint(block));
  if (ZEROS == 0) return float(1 << (BITS - 1));
  const int bit = block * BITS;
  return weight_of(uint(LOAD_INT(zeros, UINT8, line + uint(bit >> 3))), (bit & 7) / BITS);
}

#define EACH_COLUMN [[unroll]] for (int c = 0; c < WIDTH; ++c)
#define EACH_ROW [[unroll]] for (int r = 0; r < ROWS; ++r)
// The zero point is subtracted before the product: sums with unsigned weights are larger, and round more. Loops are unrolled, since
// llvmpipe counts their steps (loops.cc).
#define ADD(j)                                                                   \
  {                                                                              \
    float x[ROWS];                                                               \
    EACH_ROW x[r] = LOAD_FLOAT(a, T, from + uint(r * s.depth + k + (j)));        \
    EACH_COLUMN {                                                                \
      const float weight = weight_of(words[c], j) - zero[c];                     \
      EACH_ROW part[r][c] += weight * x[r];                                      \
    }                                                                            \
  }

void multiply(int n, int m) {
  const uint from = a_at + uint(m * s.depth);
  float sum[ROWS][MOST], zero[MOST];
  uint words[MOST];
  EACH_ROW EACH_COLUMN sum[r][c] = 0.0;
  for (int block = 0; block < s.blocks; ++block) {
    float part[ROWS][MOST];
    EACH_ROW EACH_COLUMN part[r][c] = 0.0;
    EACH_COLUMN zero[c] = zero_of(n + c, block);
    int k = block * s.block_size, at = n * s.column_stride + block * s.block_words * s.word_stride;
    const int end = k + min(s.block_size, s.depth - k);
    for (; end - k >= PER_WORD; k += PER_WORD, at += s.word_stride) {
      EACH_COLUMN words[c] = word_at(at + c * s.column_stride);
      [[unroll]] for (int j = 0; j < PER_WORD; ++j) ADD(j)
    }
    if (k < end) {
      EACH_COLUMN words[c] = word_at(at + c * s.column_stride);
      for (int j = 0; j < end - k; ++j) ADD(j)
    }
    EACH_COLUMN {
      const float scale = LOAD_FLOAT(scales, T, scales_at + uint((n + c) * s.blocks + block));
      EACH_ROW sum[r][c] += scale * part[r][c];
    }
  }
  EACH_COLUMN {
    const float start = s.has_bias != 0 ? LOAD_FLOAT(bias, T, bias_at + uint(n + c)) : 0.0;
    EACH_ROW STORE_FLOAT(y, T, y_at + uint((m + r) * s.columns + n + c), sum[r][c] + start)
  }
}

void main() {
  // The last columns and rows move inwards and overlap.
  EACH(i, (s.columns - 1) / WIDTH + 1, line, (s.rows - 1) / ROWS + 1)
    multiply(min(i * WIDTH, s.columns - WIDTH), min(line * ROWS, s.rows - ROWS));
}
