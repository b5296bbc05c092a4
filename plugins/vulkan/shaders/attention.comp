#version 450
// variants: all lengths
// Attention, as tenon/ep/device/ops/attention.hpp describes it: a work-item for each query and each tile of its result. The variant
// says which keys a sequence has: all of them, or as many as an input says.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 4) const uint T = 1;
layout(constant_id = 5) const uint B = 1;  // of the mask
layout(constant_id = 6) const bool PAST = false;
const int TILE = 32, STEP = 16;

struct Sizes {
  int batch, heads, kv_heads, shared_, queries, keys, past, size, value_size, tiles, mask_keys, is_causal, left, right;
  int q[3];
  int k[3];
  int v[3];
  int y[3];
  int mask[3];
};
NUMBERS {
  uint q_at, k_at, v_at, mask_at, past_k_at, past_v_at, y_at;
#if defined(IS_lengths)
  uint lengths_at, flag_at;
#endif
  Sizes s;
  float scale;
  int has_scale;
  float cap;
};
layout(std430, binding = 1) readonly buffer Q { uint q[]; };
layout(std430, binding = 2) readonly buffer K { uint k[]; };
layout(std430, binding = 3) readonly buffer V { uint v[]; };
layout(std430, binding = 4) readonly buffer Mask { uint mask[]; };
layout(std430, binding = 5) readonly buffer PastK { uint past_k[]; };
layout(std430, binding = 6) readonly buffer PastV { uint past_v[]; };
layout(std430, binding = 7) buffer Y { uint y[]; };
#if defined(IS_lengths)
layout(std430, binding = 8) readonly buffer Lengths { uint lengths[]; };
#define FLAG_BINDING 9
#include "index.glsl"
#endif

const float LEAST = -1.0 / 0.0;

#define ROW(strides, batch, head, position) uint((batch) * strides[0] + (head) * strides[1] + (position) * strides[2])

// The product of a query with a key. Blocks are unrolled, since llvmpipe counts the steps of loops (loops.cc).
#define PRODUCT(name, keys)                                                               \
  float name(uint a, uint b) {                                                            \
    float sum = 0.0;                                                                      \
    int d = 0;                                                                            \
    for (; d + STEP <= s.size; d += STEP) {                                               \
      [[unroll]] for (int t = 0; t < STEP; ++t)                                           \
        sum += LOAD_FLOAT(q, T, a + uint(d + t)) * LOAD_FLOAT(keys, T, b + uint(d + t));  \
    }                                                                                     \
    for (; d < s.size; ++d) sum += LOAD_FLOAT(q, T, a + uint(d)) * LOAD_FLOAT(keys, T, b + uint(d)); \
    return sum;                                                                           \
  }
PRODUCT(product, k)
PRODUCT(past_product, past_k)

// Adds to the weighted values so far. Loops over them are unrolled, so that they stay in registers. Elements beyond the last are not
// stored; they read the last one.
#define ADD_VALUES(values, from)                                                          \
  {                                                                                       \
    const uint from_ = from;                                                              \
    [[unroll]] for (int t = 0; t < TILE; ++t)                                             \
      sums[t] += weight * LOAD_FLOAT(values, T, from_ + uint(min(t, last)));              \
  }

float bias_of(uint at) {
  if (B == BOOL) return LOAD_INT(mask, BOOL, at) != 0 ? 0.0 : LEAST;
  return LOAD_FLOAT(mask, B, at);
}

float tanh_of(float x) {
  if (abs(x) < 0.04) return x - x * x * x / 3.0;
  return isnan(x) ? x : sign(x) * (1.0 - 2.0 / (exp(2.0 * min(abs(x), 20.0)) + 1.0));
}

// `keys`: those of the sequence. `shift`: the position of the first query among them.
void attend(int tile, int b, int h, int i, int keys, int shift) {
  const int kv = h / s.shared_, position = i + shift;
  int begin = 0, end = keys;  // of the keys that the query sees
  if (s.is_causal != 0) end = min(end, position + 1);
  if (s.left >= 0) begin = max(begin, position - s.left);
  if (s.right >= 0) end = min(end, position + s.right + 1);
  if (s.mask_keys >= 0) end = min(end, s.mask_keys);
  const float factor = has_scale != 0 ? scale : 1.0 / sqrt(float(s.size));
  const int first = tile * TILE, last = min(TILE, s.value_size - first) - 1, old = (b * s.kv_heads + kv) * s.past;
  const uint q_from = q_at + ROW(s.q, b, h, i), k_from = k_at + ROW(s.k, b, kv, 0),
             v_from = v_at + ROW(s.v, b, kv, 0) + uint(first), bias_from = mask_at + ROW(s.mask, b, h, i);
  float sums[TILE];
  [[unroll]] for (int t = 0; t < TILE; ++t) sums[t] = 0.0;
  float top = LEAST, sum = 0.0;
  bool sees_any = false;
  for (int key = begin; key < end; ++key) {
    const float bias = s.mask_keys >= 0 ? bias_of(bias_from + uint(key)) : 0.0;
    if (bias == LEAST) continue;  // also if its score is infinite
    sees_any = true;
    const bool is_old = PAST && key < s.past;
    float score = 0.0;
    if (is_old)
      score = past_product(q_from, past_k_at + uint((old + key) * s.size));
    else
      score = product(q_from, k_from + uint((key - s.past) * s.k[2]));
    score *= factor;
    if (cap != 0.0) score = cap * tanh_of(score / cap);
    score += bias;
    if (score > top) {
      const float shrink = top == LEAST ? 0.0 : exp(top - score);
      sum *= shrink;
      [[unroll]] for (int t = 0; t < TILE; ++t) sums[t] *= shrink;
      top = score;
    }
    const float weight = score == LEAST ? 0.0 : exp(score - top);
    sum += weight;
    if (is_old)
      ADD_VALUES(past_v, past_v_at + uint((old + key) * s.value_size + first))
    else
      ADD_VALUES(v, v_from + uint((key - s.past) * s.v[2]))
  }
  const uint to = y_at + ROW(s.y, b, h, i) + uint(first);
  for (int t = 0; t <= last; ++t) {
    float one = sums[0];  // an index that is not constant would take the sums out of the registers
    [[unroll]] for (int u = 1; u < TILE; ++u) one = t == u ? sums[u] : one;
    if (sees_any) one /= sum;
    STORE_FLOAT(y, T, to + uint(t), one)
  }
}

void main() {
  EACH(item, s.batch * s.heads * s.tiles * s.queries, row, 1) {
    const int line = item / s.queries, i = item - line * s.queries;
    const int plane = line / s.tiles, tile = line - plane * s.tiles, b = plane / s.heads, h = plane - b * s.heads;
#if defined(IS_lengths)
    const uint low = lengths[2 * (lengths_at + uint(b))], high = lengths[2 * (lengths_at + uint(b)) + 1];
    const bool fits = high == 0u && low <= uint(s.keys);
    if (!fits) flag_index(low, high, s.keys + 1);
    const int keys = fits ? int(low) : 0;
    attend(tile, b, h, i, keys, s.past == 0 ? keys - s.queries : s.past);
#else
    attend(tile, b, h, i, s.keys, s.past);
#endif
  }
}
