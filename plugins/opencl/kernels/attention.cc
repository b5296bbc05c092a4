// Attention.
#include "tenon/ep/device/ops/attention.hpp"

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr std::string_view kText = R"CL(
#define TILE 32
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define V JOIN(C, 16)
#if IS_HALF
#define LOADV(p) vload_half16(0, p)
#define STOREV(p, v) vstore_half16(v, 0, p)
#else
#define LOADV(p) vload16(0, p)
#define STOREV(p, v) vstore16(v, 0, p)
#endif
#if MASKS_BY_BOOL
#define BIAS(i) (mask[i] ? (C)0 : (C)-INFINITY)
#else
#define BIAS(i) ((C)LOAD_B(mask, i))
#endif
#define ROW(strides, batch, head, position) ((batch) * strides[0] + (head) * strides[1] + (position) * strides[2])
typedef struct {
  int batch;
  int heads;
  int kv_heads;
  int shared;
  int queries;
  int keys;
  int past;
  int size;
  int value_size;
  int tiles;
  int mask_keys;
  int is_causal;
  int left;
  int right;
  int q[3];
  int k[3];
  int v[3];
  int y[3];
  int mask[3];
} Sizes;
inline C product(__global const T* a, __global const T* b, int n) {
  V sums = 0;
  int d = 0;
  for (; d + 16 <= n; d += 16) sums += LOADV(a + d) * LOADV(b + d);
  const JOIN(C, 8) eight = sums.lo + sums.hi;
  const JOIN(C, 4) four = eight.lo + eight.hi;
  C sum = four.x + four.y + four.z + four.w;
  for (; d < n; ++d) sum += LOAD(a, d) * LOAD(b, d);
  return sum;
}
// Sixteen elements, of which there are `count`.
inline V load_part(__global const T* p, int count) {
  C parts[16];
  for (int t = 0; t < 16; ++t) parts[t] = t < count ? LOAD(p, t) : (C)0;
  return vload16(0, parts);
}
inline void store_part(__global T* p, V v, int count) {
  C parts[16];
  vstore16(v, 0, parts);
  for (int t = 0; t < 16 && t < count; ++t) STORE(p, t, parts[t]);
}
// `keys`: those of the sequence. `shift`: the position of the first query among them.
inline void attend(__global const T* q, __global const T* k, __global const T* v, __global const B* mask,
                   __global const T* past_k, __global const T* past_v, __global T* y, Sizes s, float scale, int has_scale,
                   float cap, int tile, int b, int h, int i, int keys, int shift) {
  const int kv = h / s.shared, position = i + shift;
  int begin = 0, end = keys;  // of the keys that the query sees
  if (s.is_causal) end = min(end, position + 1);
  if (s.left >= 0) begin = max(begin, position - s.left);
  if (s.right >= 0) end = min(end, position + s.right + 1);
  if (s.mask_keys >= 0) end = min(end, s.mask_keys);
  const C factor = has_scale ? (C)scale : 1 / sqrt((C)s.size);
  const int first = tile * TILE, count = min(TILE, s.value_size - first), old = (b * s.kv_heads + kv) * s.past;
  const int bias_at = ROW(s.mask, b, h, i);
  q += ROW(s.q, b, h, i);
  k += ROW(s.k, b, kv, 0);
  v += ROW(s.v, b, kv, 0) + first;
  y += ROW(s.y, b, h, i) + first;
  C top = -INFINITY, sum = 0;
  V low = 0, high = 0;
  bool sees_any = false;
  for (int key = begin; key < end; ++key) {
    const C bias = s.mask_keys >= 0 ? BIAS(bias_at + key) : (C)0;
    if (bias == -INFINITY) continue;  // also if its score is infinite
    sees_any = true;
    const bool is_old = PAST && key < s.past;
    C score = product(q, is_old ? past_k + (old + key) * s.size : k + (key - s.past) * s.k[2], s.size) * factor;
    if (cap != 0) score = cap * tanh(score / cap);
    score += bias;
    if (score > top) {
      const C shrink = top == -INFINITY ? (C)0 : exp(top - score);
      sum *= shrink;
      low *= shrink;
      high *= shrink;
      top = score;
    }
    const C weight = score == -INFINITY ? (C)0 : exp(score - top);
    sum += weight;
    __global const T* value = is_old ? past_v + (old + key) * s.value_size + first : v + (key - s.past) * s.v[2];
    low += weight * (count >= 16 ? LOADV(value) : load_part(value, count));
    if (count > 16) high += weight * (count == TILE ? LOADV(value + 16) : load_part(value + 16, count - 16));
  }
  if (sees_any) {
    low /= sum;
    high /= sum;
  }
  if (count == TILE) {
    STOREV(y, low);
    STOREV(y + 16, high);
  } else {
    store_part(y, low, count);
    store_part(y + 16, high, count - 16);
  }
}
#define TENSORS                                                                                            \
  IN(T, q), IN(T, k), IN(T, v), IN(B, mask), IN(T, past_k), IN(T, past_v), OUT(T, y)
#define ATTEND(keys, shift)                                                                                \
  attend(PTR(q), PTR(k), PTR(v), PTR(mask), PTR(past_k), PTR(past_v), PTR(y), s, scale, has_scale, cap,    \
         line % s.tiles, line / s.tiles / s.heads, line / s.tiles % s.heads, i, keys, shift)
__kernel void Attention(TENSORS, Sizes s, float scale, int has_scale, float cap) {
  const int item = get_global_id(0);
  if (item >= s.batch * s.heads * s.tiles * s.queries) return;
  const int line = item / s.queries, i = item - line * s.queries;
  ATTEND(s.keys, s.past);
}
__kernel void AttentionOfLengths(TENSORS, IN(long, lengths), __global int* flag, Sizes s, float scale, int has_scale,
                                 float cap) {
  const int item = get_global_id(0);
  if (item >= s.batch * s.heads * s.tiles * s.queries) return;
  const int line = item / s.queries, i = item - line * s.queries;
  const long length = PTR(lengths)[line / s.tiles / s.heads];
  const bool fits = length >= 0 && length <= s.keys;
  if (!fits) flag_index(flag, length, s.keys + 1);
  const int keys = fits ? (int)length : 0;
  ATTEND(keys, s.past == 0 ? keys - s.queries : s.past);
}
)CL";

constexpr Source kSource{"attention", kText, "Sizes", sizeof(ops::AttentionSizes)};

struct Kernels : Backend<kSource> {
  using Copies = CopyKernels;
  static KernelRef load(const NodeView& node, std::string_view name, const Settings& settings) {
    const std::string defines =
        cat(defines_of(settings), "-DIS_HALF=", node.input(0).dtype() == TENON_FLOAT16 ? 1 : 0,
            " -DMASKS_BY_BOOL=", node.has_input(3) && node.input(3).dtype() == TENON_BOOL ? 1 : 0, " ");
    return load_kernel(node, kSource, defines, std::string(name), kLine);
  }
};

TENON_KERNEL(ops::Attention<Kernels>, .op_type = "Attention", .since = 23,
             .contract =
                 "Q: rank 3..4; K: [Q.0, ?, ?] & rank Q | [Q.0, ?, ?, Q.-1] & rank Q; "
                 "V: [Q.0, K.1, ?] & rank Q | [Q.0, K.1, K.2, ?] & rank Q; attn_mask?: rank 1..4; "
                 "past_key?: [Q.0, ?, P, ?]; past_value?: [Q.0, past_key.1, P, ?]; "
                 "nonpad_kv_seqlen?: [Q.0] @index")

}  // namespace
}  // namespace tenon::opencl
