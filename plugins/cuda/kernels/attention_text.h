// The text of attention: y is the mean of the values, weighted by the softmax of scaled products of a query with the keys.
//
// Rows are the queries of all heads that share a head of keys and values, so that these are read once for them. Scores are not
// stored: when a score is the largest so far, the sums up to it shrink. Keys that are masked count for nothing, and a query that
// sees none gives zeros. Where there are too few blocks, the keys are divided among more of them: each keeps its sums as they are,
// and AttentionSum joins them.
#pragma once

#include <string_view>

namespace tenon::cuda {

/// What the forms have in common.
inline constexpr std::string_view kAttentionText = R"CU(
struct Sizes {
  int batch, heads, kv_heads, shared_, queries, keys, past, size, value_size, tiles, mask_keys, is_causal, left, right;
  int q[3], k[3], v[3], y[3], mask[3];
};
struct Scores {
  float scale;
  int has_scale;
  float cap;
  int splits, part;  // of the keys: how many parts, and the length of one
};
#if HAS_LENGTHS
#define LENGTHS IN(int64, lengths), int *flag,
// The keys of the sequence, and the position of the first query among them.
#define FIND_KEYS(b)                                                         \
  const int64 length = lengths[b];                                           \
  const bool fits = length >= 0 && length <= s.keys;                         \
  if (!fits && threadIdx.x == 0) flag_index(flag, length, s.keys + 1);       \
  const int keys = fits ? (int)length : 0, shift = s.past == 0 ? keys - s.queries : s.past;
#else
#define LENGTHS
#define FIND_KEYS(b) const int keys = s.keys, shift = s.past;
#endif
#define TENSORS \
  IN(T, q), IN(T, k), IN(T, v), IN(B, mask), IN(T, past_k), IN(T, past_v), OUT(T, y), LENGTHS OUT(C, partial), Sizes s, Scores g

// What a row of the tile reads. Rows beyond the last see no keys.
struct Row {
  int begin, end;  // of the keys that it sees
  int q, y, mask;  // where its elements begin
  int line;        // its number among all of the batch
};
__device__ inline Row row_of(const Sizes& s, int row, int b, int kv, int keys, int shift) {
  if (row >= s.shared_ * s.queries) return {0, 0, 0, 0, 0, -1};
  const int h = kv * s.shared_ + row / s.queries, i = row % s.queries, position = i + shift;
  int begin = 0, end = keys;
  if (s.is_causal && position + 1 < end) end = position + 1;
  if (s.left >= 0 && position - s.left > begin) begin = position - s.left;
  if (s.right >= 0 && position + s.right + 1 < end) end = position + s.right + 1;
  if (s.mask_keys >= 0 && s.mask_keys < end) end = s.mask_keys;
  return {begin, end, b * s.q[0] + h * s.q[1] + i * s.q[2], b * s.y[0] + h * s.y[1] + i * s.y[2],
          b * s.mask[0] + h * s.mask[1] + i * s.mask[2], (b * s.heads + h) * s.queries + i};
}
__device__ inline C bias_of(const B* mask, int64 at) {
#if HAS_MASK && MASKS_BY_BOOL
  return mask[at] ? (C)0 : (C)-INFINITY;
#elif HAS_MASK
  return (C)mask[at];
#else
  return 0;
#endif
}
__device__ inline C score_of(C product, C bias, const Scores& g, C factor) {
  C score = product * factor;
  if (g.cap != 0) score = (C)g.cap * tanh(score / (C)g.cap);
  return score + bias;
}
__device__ inline C weight_of(C score, C top) { return score == (C)-INFINITY ? (C)0 : exp(score - top); }
__device__ inline C shrink_of(C before, C top) {
  return !(top > before) ? (C)1 : before == (C)-INFINITY ? (C)0 : exp(before - top);
}
#define FACTOR (g.has_scale ? (C)g.scale : 1 / sqrt((C)s.size))
#if PAST
#define LINE_AT(fresh, earlier, strides, width, key)                                                    \
  ((key) < s.past ? earlier + ((int64)(b * s.kv_heads + kv) * s.past + (key)) * (width)                 \
                  : fresh + (int64)b * strides[0] + (int64)kv * strides[1] + (int64)((key)-s.past) * strides[2])
#else
#define LINE_AT(fresh, earlier, strides, width, key) \
  (fresh + (int64)b * strides[0] + (int64)kv * strides[1] + (int64)(key)*strides[2])
#endif
// A row of partial sums: the largest score, the sum of weights, whether any key is seen, and the weighted sums of values.
#define PARTIAL_AT(split, line) \
  (partial + ((int64)(split)*s.batch * s.heads * s.queries + (line)) * (s.value_size + 3))
// A warp takes a row of y.
KERNEL AttentionSum(IN(C, partial), OUT(T, y), Sizes s, Scores g) {
  const int lane = (int)threadIdx.x % 32;
  for (int64 line = ((int64)blockIdx.x * blockDim.x + threadIdx.x) / 32; line < (int64)s.batch * s.heads * s.queries;
       line += (int64)gridDim.x * blockDim.x / 32) {
    C top = -INFINITY, sum = 0;
    bool any = false;
    for (int split = 0; split < g.splits; ++split) {
      const C* part = PARTIAL_AT(split, line);
      any = any || part[2] != 0;
      if (part[0] > top) top = part[0];
    }
    for (int split = 0; split < g.splits; ++split) {
      const C* part = PARTIAL_AT(split, line);
      if (part[2] != 0) sum += part[1] * shrink_of(part[0], top);
    }
    const int plane = (int)(line / s.queries), b = plane / s.heads;
    T* const to = y + (int64)b * s.y[0] + (int64)(plane - b * s.heads) * s.y[1] + (line - (int64)plane * s.queries) * s.y[2];
    for (int e = lane; e < s.value_size; e += 32) {
      C one = 0;
      for (int split = 0; split < g.splits; ++split) {
        const C* part = PARTIAL_AT(split, line);
        if (part[2] != 0) one += part[3 + e] * shrink_of(part[0], top);
      }
      to[e] = any ? one / sum : (C)0;
    }
  }
}
)CU";

/// Few rows. Each warp of a block takes every eighth key; a lane has KEY_LINE elements of it and VALUE_LINE of its value.
inline constexpr std::string_view kAttentionRows = R"CU(
constexpr int kWarps = 8;
KERNEL __launch_bounds__(256, 2) AttentionRows(TENSORS) {
  __shared__ C tops[kWarps][ROWS];
  __shared__ C sums[kWarps][ROWS];
  __shared__ int seen[kWarps][ROWS];
  __shared__ C outs[kWarps][ROWS][32 * VALUE_LINE];
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int down = (s.shared_ * s.queries + ROWS - 1) / ROWS;
  const C factor = FACTOR;
  EACH_BLOCK(block, (int64)down * s.kv_heads * s.batch * g.splits) {
    const int tile = (int)(block % down), rest = (int)(block / down), plane = rest % (s.kv_heads * s.batch);
    const int split = rest / (s.kv_heads * s.batch), kv = plane % s.kv_heads, b = plane / s.kv_heads;
    FIND_KEYS(b)
    Row rows[ROWS];
    C query[ROWS][KEY_LINE], out[ROWS][VALUE_LINE] = {}, top[ROWS], sum[ROWS];
    bool sees_any[ROWS];
    int from = keys, to = 0;
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      rows[i] = row_of(s, tile * ROWS + i, b, kv, keys, shift);
      top[i] = -INFINITY;
      sum[i] = 0;
      sees_any[i] = false;
      T line[KEY_LINE];
      load_line(line, q + rows[i].q + lane * KEY_LINE, rows[i].line < 0 ? 0 : s.size - lane * KEY_LINE);
#pragma unroll
      for (int e = 0; e < KEY_LINE; ++e) query[i][e] = (C)line[e];
      if (rows[i].begin < rows[i].end) {
        from = from < rows[i].begin ? from : rows[i].begin;
        to = to > rows[i].end ? to : rows[i].end;
      }
    }
    if (g.splits > 1) {
      from = from > split * g.part ? from : split * g.part;
      to = to < (split + 1) * g.part ? to : (split + 1) * g.part;
    }
#pragma unroll 1
    for (int key = from + warp; key < to; key += kWarps * AHEAD) {
      T key_lines[AHEAD][KEY_LINE], value_lines[AHEAD][VALUE_LINE];
#pragma unroll
      for (int n = 0; n < AHEAD; ++n) {
        const int at = key + n * kWarps;
        const bool is_key = at < to;
        load_line(key_lines[n], (is_key ? LINE_AT(k, past_k, s.k, s.size, at) : k) + lane * KEY_LINE,
                  is_key ? s.size - lane * KEY_LINE : 0);
        load_line(value_lines[n], (is_key ? LINE_AT(v, past_v, s.v, s.value_size, at) : v) + lane * VALUE_LINE,
                  is_key ? s.value_size - lane * VALUE_LINE : 0);
      }
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
        C products[AHEAD];
#pragma unroll
        for (int n = 0; n < AHEAD; ++n) {
          products[n] = 0;
#pragma unroll
          for (int e = 0; e < KEY_LINE; ++e) products[n] += query[i][e] * (C)key_lines[n][e];
        }
#pragma unroll
        for (int lanes = 16; lanes > 0; lanes /= 2) {
#pragma unroll
          for (int n = 0; n < AHEAD; ++n) products[n] += lane_xor(products[n], lanes);
        }
#pragma unroll
        for (int n = 0; n < AHEAD; ++n) {
          const int at = key + n * kWarps;
          if (at < rows[i].begin || at >= rows[i].end || at >= to) continue;
          const C bias = bias_of(mask, (int64)rows[i].mask + at);
          if (bias == (C)-INFINITY) continue;  // also if its score is infinite
          sees_any[i] = true;
          const C score = score_of(products[n], bias, g, factor), before = top[i];
          if (score > before) top[i] = score;
          const C shrink = shrink_of(before, top[i]), weight = weight_of(score, top[i]);
          sum[i] = sum[i] * shrink + weight;
#pragma unroll
          for (int e = 0; e < VALUE_LINE; ++e)
            // A weight of 0 counts for nothing, even if the value is infinite or NaN.
            out[i][e] = out[i][e] * shrink + (weight != 0 ? weight * (C)value_lines[n][e] : (C)0);
        }
      }
    }
    __syncthreads();  // the block before is done with what is shared
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      if (lane == 0) {
        tops[warp][i] = top[i];
        sums[warp][i] = sum[i];
        seen[warp][i] = sees_any[i];
      }
#pragma unroll
      for (int e = 0; e < VALUE_LINE; ++e) outs[warp][i][lane * VALUE_LINE + e] = out[i][e];
    }
    __syncthreads();
    for (int at = (int)threadIdx.x; at < ROWS * 32 * VALUE_LINE; at += 32 * kWarps) {
      const int i = at / (32 * VALUE_LINE), e = at % (32 * VALUE_LINE);
      const Row row = row_of(s, tile * ROWS + i, b, kv, keys, shift);
      if (row.line < 0 || e >= s.value_size) continue;
      C highest = -INFINITY, total = 0, one = 0;
      int any = 0;
#pragma unroll
      for (int part = 0; part < kWarps; ++part) {
        any |= seen[part][i];
        if (tops[part][i] > highest) highest = tops[part][i];
      }
#pragma unroll
      for (int part = 0; part < kWarps; ++part) {
        if (!seen[part][i]) continue;
        const C shrink = shrink_of(tops[part][i], highest);
        total += sums[part][i] * shrink;
        one += outs[part][i][e] * shrink;
      }
      if (g.splits > 1) {
        C* const part = PARTIAL_AT(split, row.line);
        part[3 + e] = one;
        if (e == 0) {
          part[0] = highest;
          part[1] = total;
          part[2] = (C)any;
        }
      } else {
        y[row.y + e] = any ? one / total : (C)0;
      }
    }
  }
}
)CU";

}  // namespace tenon::cuda
