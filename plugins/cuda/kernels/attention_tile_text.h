// Part of the text of attention (attention_text.h).
#pragma once

#include <string_view>

namespace tenon::cuda {

/// Many rows. A block of 256 threads takes a tile of them, and tiles of keys go through shared memory.
inline constexpr std::string_view kAttentionTile = R"CU(
constexpr int kPer = sizeof(C) > 4 ? 2 : 4;  // rows and keys of a thread
constexpr int kSide = 16 * kPer, kStep = 16, kPitch = kSide + 4;
constexpr int kOut = VALUES / 16, kGroup = kOut < 4 ? kOut : 4;  // values of a thread, which are groups of neighbours
typedef LineOf<C, kPer> Line;
typedef LineOf<C, kGroup> Group;

KERNEL __launch_bounds__(256, 2) AttentionTile(TENSORS) {
  alignas(16) __shared__ C qs[kStep][kPitch];
  alignas(16) __shared__ C ks[kStep][kPitch];
  alignas(16) __shared__ C weights[kSide][kPitch];
  alignas(16) __shared__ C vs[kStep][VALUES + 4];
  __shared__ Row rows[kSide];
  __shared__ int first_key, last_key, is_odd;
  const int thread = (int)threadIdx.x, tx = thread % 16, ty = thread / 16;
  const int down = (s.shared_ * s.queries + kSide - 1) / kSide, across = (s.value_size + VALUES - 1) / VALUES;
  const C factor = FACTOR;
  EACH_BLOCK(block, (int64)down * across * s.kv_heads * s.batch * g.splits) {
    const int tile = (int)(block % down), rest = (int)(block / down);
    const int first = rest % across * VALUES, plane = rest / across % (s.kv_heads * s.batch);
    const int split = rest / across / (s.kv_heads * s.batch), kv = plane % s.kv_heads, b = plane / s.kv_heads;
    FIND_KEYS(b)
    __syncthreads();  // the block before is done with what is shared
    if (thread == 0) {
      first_key = keys;
      last_key = 0;
      is_odd = 0;
    }
    __syncthreads();
    if (thread < kSide) {
      const Row row = row_of(s, tile * kSide + thread, b, kv, keys, shift);
      rows[thread] = row;
      if (row.begin < row.end) {
        atomicMin(&first_key, row.begin);
        atomicMax(&last_key, row.end);
      }
    }
    __syncthreads();
    int from = first_key, to = last_key;
    if (g.splits > 1) {
      from = from > split * g.part ? from : split * g.part;
      to = to < (split + 1) * g.part ? to : (split + 1) * g.part;
    }
    C out[kPer][kOut] = {}, top[kPer], sum[kPer];
    int seen = 0;  // a bit for each row
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      top[i] = -INFINITY;
      sum[i] = 0;
    }
    for (int key = from; key < to; key += kSide) {
      C scores[kPer][kPer] = {};
      {
        const int line = thread / (kStep / kPer), d = thread % (kStep / kPer) * kPer;
        const T* q_from = q + rows[line].q + d;
        const bool has_q = rows[line].line >= 0, has_k = key + line < to;
        const T* k_from = has_k ? LINE_AT(k, past_k, s.k, s.size, key + line) + d : k;
        T staged_q[kPer], staged_k[kPer];
        load_line(staged_q, q_from, has_q ? s.size - d : 0);
        load_line(staged_k, k_from, has_k ? s.size - d : 0);
        for (int step = 0; step < s.size; step += kStep) {
          __syncthreads();
#pragma unroll
          for (int e = 0; e < kPer; ++e) {
            qs[d + e][line] = (C)staged_q[e];
            ks[d + e][line] = (C)staged_k[e];
          }
          __syncthreads();
          const int next = step + kStep;
          if (next < s.size) {
            load_line(staged_q, q_from + next, has_q ? s.size - d - next : 0);
            load_line(staged_k, k_from + next, has_k ? s.size - d - next : 0);
          }
#pragma unroll 4
          for (int at = 0; at < kStep; ++at) {
            const Line left = *(const Line*)&qs[at][ty * kPer], right = *(const Line*)&ks[at][tx * kPer];
#pragma unroll
            for (int i = 0; i < kPer; ++i) {
#pragma unroll
              for (int j = 0; j < kPer; ++j) scores[i][j] += left.at[i] * right.at[j];
            }
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
        const Row row = rows[ty * kPer + i];
        C highest = -INFINITY;
#pragma unroll
        for (int j = 0; j < kPer; ++j) {
          const int at = key + tx * kPer + j;
          bool sees = at >= row.begin && at < row.end && at < to;
          const C bias = sees ? bias_of(mask, (int64)row.mask + at) : (C)0;
          sees = sees && bias != (C)-INFINITY;  // then also if its score is infinite
          scores[i][j] = sees ? score_of(scores[i][j], bias, g, factor) : (C)-INFINITY;
          if (sees) seen |= 1 << i;
          if (scores[i][j] > highest) highest = scores[i][j];
        }
#pragma unroll
        for (int lanes = 8; lanes > 0; lanes /= 2) {
          const C other = lane_xor(highest, lanes);
          if (other > highest) highest = other;
        }
        const C before = top[i];
        if (highest > before) top[i] = highest;
        const C shrink = shrink_of(before, top[i]);
        sum[i] *= shrink;
#pragma unroll
        for (int e = 0; e < kOut; ++e) out[i][e] *= shrink;
#pragma unroll
        for (int j = 0; j < kPer; ++j) {
          scores[i][j] = weight_of(scores[i][j], top[i]);
          sum[i] += scores[i][j];
        }
      }
#pragma unroll
      for (int j = 0; j < kPer; ++j) {
        Line line;
#pragma unroll
        for (int i = 0; i < kPer; ++i) line.at[i] = scores[i][j];
        *(Line*)&weights[tx * kPer + j][ty * kPer] = line;
      }
      for (int step = 0; step < kSide && key + step < to; step += kStep) {
        const int line = thread / 16, e0 = thread % 16 * kOut, at = key + step + line;
        T staged[kOut];
        load_line(staged, at < to ? LINE_AT(v, past_v, s.v, s.value_size, at) + first + e0 : v,
                  at < to ? s.value_size - first - e0 : 0);
        bool odd = false;
        __syncthreads();
#pragma unroll
        for (int e = 0; e < kOut; ++e) {
          const C one = (C)staged[e];
          odd = odd || !(fabs(one) < (C)INFINITY);
          vs[line][e0 + e] = one;
        }
        if (odd) is_odd = 1;
        __syncthreads();
        // A weight of 0 counts for nothing, even if the value is infinite or NaN.
        const bool is_guarded = is_odd != 0;
#pragma unroll 4
        for (int n = 0; n < kStep; ++n) {
          const Line left = *(const Line*)&weights[step + n][ty * kPer];
          C right[kOut];
#pragma unroll
          for (int e = 0; e < kOut; e += kGroup) {
            const Group group = *(const Group*)&vs[n][e / kGroup * (16 * kGroup) + tx * kGroup];
#pragma unroll
            for (int f = 0; f < kGroup; ++f) right[e + f] = group.at[f];
          }
          if (is_guarded) {
#pragma unroll
            for (int i = 0; i < kPer; ++i) {
#pragma unroll
              for (int e = 0; e < kOut; ++e) out[i][e] += left.at[i] != 0 ? left.at[i] * right[e] : (C)0;
            }
          } else {
#pragma unroll
            for (int i = 0; i < kPer; ++i) {
#pragma unroll
              for (int e = 0; e < kOut; ++e) out[i][e] += left.at[i] * right[e];
            }
          }
        }
      }
      // The next tile's weights are stored after a barrier: there is one before its scores.
      if (s.size <= 0) __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      int any = seen >> i & 1;
#pragma unroll
      for (int lanes = 8; lanes > 0; lanes /= 2) {
        sum[i] += lane_xor(sum[i], lanes);
        any |= lane_xor(any, lanes);
      }
      const Row row = rows[ty * kPer + i];
      if (row.line < 0) continue;
      C* const part = PARTIAL_AT(split, row.line);
      if (g.splits > 1 && tx == 0 && first == 0) {
        part[0] = top[i];
        part[1] = sum[i];
        part[2] = (C)any;
      }
#pragma unroll
      for (int e = 0; e < kOut; ++e) {
        const int at = first + e / kGroup * (16 * kGroup) + tx * kGroup + e % kGroup;
        if (at >= s.value_size) continue;
        if (g.splits > 1)
          part[3 + at] = out[i][e];
        else
          y[row.y + at] = any ? out[i][e] / sum[i] : (C)0;
      }
    }
  }
}
)CU";

}  // namespace tenon::cuda
