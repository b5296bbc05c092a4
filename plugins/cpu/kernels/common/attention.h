// Scaled dot product attention over any layout of heads. Computes the scores for a block of queries at a time
// and never stores them all.
#pragma once

#include <array>
#include <cmath>

#include "isa/attention.h"
#include "kernels/common/convert.h"
#include "kernels/common/gemm.h"

namespace tenon::cpu {

/// Rows of `size` elements, one for each (batch, head, position). Strides are in elements.
template <class C>
struct Heads {
  C* data = nullptr;
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;

  C* row(int64_t batch, int64_t head, int64_t position) const {
    return data + batch * batch_stride + head * head_stride + position * row_stride;
  }
};

/// Layout [batch, heads, length, size], or [batch, length, heads * size] when `heads_inside`.
template <class C>
Heads<C> heads_of(C* data, int64_t heads, int64_t length, int64_t size, bool heads_inside) {
  if (heads_inside) return {data, length * heads * size, size, heads * size};
  return {data, heads * length * size, length * size, size};
}

struct AttentionShape {
  int64_t batch = 1, heads = 1, kv_heads = 1;  // kv_heads divides heads
  int64_t queries = 0, keys = 0, size = 0, value_size = 0;
};

using isa::KeyRange;

/// The functions for a node's attention: with products in bfloat16 if its queries are float32 and the session's precision and the
/// processor have that.
inline const isa::Attention& attention_for(const NodeView& n) {
  const isa::Attention* bf16 = isa_attention_bf16();
  const bool allowed = n.instance().precision == TENON_PRECISION_BF16 && n.input(0).dtype() == TENON_FLOAT32;
  return allowed && bf16 != nullptr ? *bf16 : isa_attention();
}

/// A tensor that broadcasts to [batch, heads, queries, keys] and is added to the scores. Of booleans, false excludes a
/// key.
struct ScoreMask {
  static constexpr auto kTypes = kFloatTypes + kBoolType;
  TensorView values;                 // not present: no mask
  std::array<int64_t, 3> strides{};  // for batch, head and query
  int64_t keys = 0;                  // elements of a row; later keys are excluded

  explicit ScoreMask(TensorView mask) : values(mask) {
    if (!mask.present()) return;
    keys = mask.dims().back();
    int64_t stride = keys;
    for (int d = mask.rank() - 2, i = 2; d >= 0; --d, --i) {
      strides[static_cast<size_t>(i)] = mask.dim(d) == 1 ? 0 : stride;
      stride *= mask.dim(d);
    }
  }

  /// Where a row begins.
  int64_t place(int64_t batch, int64_t head, int64_t query) const {
    return batch * strides[0] + head * strides[1] + query * strides[2];
  }
  /// Whether the elements are not float32 yet.
  bool needs_room() const { return values.present() && values.dtype() != TENON_FLOAT32; }

  /// n elements from `place` on, as numbers to add: 0 and -infinity for booleans.
  template <class C>
  void read(int64_t place, int64_t n, C* out) const {
    dispatch(kTypes, values.dtype(), [&]<class M>() {
      const M* from = values.data<M>() + place;
      if constexpr (std::is_same_v<M, bool> && std::is_same_v<C, float>)
        return isa_attention().read_bools(from, n, out);
      for (int64_t i = 0; i < n; ++i) {
        if constexpr (std::is_same_v<M, bool>)
          out[i] = from[i] ? C{0} : -std::numeric_limits<C>::infinity();
        else
          out[i] = static_cast<C>(static_cast<Compute<M>>(from[i]));
      }
    });
  }

  /// Adds a row to the scores of keys [begin, end). Returns whether it leaves any of them.
  template <class C>
  bool add(int64_t place, KeyRange range, C* row) const {
    constexpr C kNever = -std::numeric_limits<C>::infinity();
    bool any = false;
    for (int64_t k = range.begin; k < range.end;) {
      C part[kPart];
      const int64_t n = std::min(kPart, range.end - k);
      read(place + k, n, part);
      for (int64_t i = 0; i < n; ++i) {
        // A masked key stays -infinity, also when its score is +infinity: their sum would be NaN.
        row[k + i] = part[i] == kNever ? part[i] : row[k + i] + part[i];
        any = any || part[i] != kNever;
      }
      k += n;
    }
    return any;
  }
  /// Whether a row leaves any of these keys.
  bool any(int64_t place, KeyRange range) const {
    for (int64_t k = range.begin; k < range.end; ++k) {
      float bias;
      read(place + k, 1, &bias);
      if (bias != -std::numeric_limits<float>::infinity()) return true;
    }
    return false;
  }

 private:
  static constexpr int64_t kPart = 64;
};

/// The kinds of scores that can be an output: after which operation they are taken.
enum class ScoreKind { kRaw, kCapped, kBiased, kSoftmax };

template <class C>
struct AttentionJob {
  AttentionShape shape;
  Heads<const C> query, key, value;
  Heads<C> out;
  C scale = 1, cap = 0;  // cap * tanh(score / cap) unless 0
  /// One score per head, or null. It takes part in the softmax as a key without a value.
  const C* sinks = nullptr;
  C* scores = nullptr;  // [batch, heads, queries, keys] at `score_kind`, or null
  ScoreKind score_kind = ScoreKind::kRaw;
};

namespace detail {
template <class C>
void softmax_row(C* row, int64_t n) {
  if constexpr (std::is_same_v<C, float>) {
    isa_table().softmax(row, row, n);
  } else {
    const C top = *std::max_element(row, row + n);
    C sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += row[i] = std::exp(row[i] - top);
    for (int64_t i = 0; i < n; ++i) row[i] /= sum;
  }
}
template <class C>
void softmax_row(C* row, int64_t n, C sink) {
  const C top = std::max(sink, *std::max_element(row, row + n));
  C sum = std::exp(sink - top);
  for (int64_t i = 0; i < n; ++i) sum += row[i] = std::exp(row[i] - top);
  for (int64_t i = 0; i < n; ++i) row[i] /= sum;
}
}  // namespace detail

/// `bias(batch, head, query, row)` adds the masks to a row of scores. It returns whether the query may see
/// any key; a query that may see none gives zeros.
template <class C, class Bias>
void attend(const Context& ctx, const AttentionJob<C>& job, Bias&& bias) {
  const AttentionShape& s = job.shape;
  if (s.batch * s.heads * s.queries == 0) return;
  const int64_t block = std::min<int64_t>(s.queries, 32), blocks = (s.queries + block - 1) / block;
  auto* scratch =
      ctx.scratch<C>(static_cast<int64_t>(ctx.worker_count()) * block * std::max<int64_t>(1, s.keys));
  const int64_t work = std::max<int64_t>(1, block * s.keys * (s.size + s.value_size));
  const GemmRoom<C> score_room(ctx, block, s.keys, s.size), value_room(ctx, block, s.value_size, s.keys);
  ctx.parallel_for(
      s.batch * s.heads * blocks, std::max<int64_t>(1, kGrainFlops / work),
      [&](uint32_t worker, int64_t begin, int64_t end) {
        C* scores = scratch + static_cast<int64_t>(worker) * block * s.keys;
        for (int64_t item = begin; item < end; ++item) {
          ctx.check_cancelled();
          const int64_t b = item / blocks / s.heads, h = item / blocks % s.heads,
                        first = item % blocks * block;
          const int64_t rows = std::min(block, s.queries - first), kv = h / (s.heads / s.kv_heads);
          score_room.multiply(worker,
                              {rows, s.keys, s.size, job.query.row(b, h, first), job.query.row_stride, false,
                               job.key.row(b, kv, 0), job.key.row_stride, true, scores, s.keys, false});
          for (int64_t i = 0; i < rows; ++i) {
            C* row = scores + i * s.keys;
            const auto show = [&](ScoreKind score_kind) {
              if (job.scores != nullptr && job.score_kind == score_kind)
                std::copy_n(row, s.keys, job.scores + ((b * s.heads + h) * s.queries + first + i) * s.keys);
            };
            for (int64_t k = 0; k < s.keys; ++k) row[k] *= job.scale;
            show(ScoreKind::kRaw);
            if (job.cap != 0)
              for (int64_t k = 0; k < s.keys; ++k) row[k] = job.cap * std::tanh(row[k] / job.cap);
            show(ScoreKind::kCapped);
            const bool any = bias(b, h, first + i, row);
            show(ScoreKind::kBiased);
            if (!any)
              std::fill_n(row, s.keys, C{0});
            else if (job.sinks != nullptr)
              detail::softmax_row(row, s.keys, job.sinks[h]);
            else
              detail::softmax_row(row, s.keys);
            show(ScoreKind::kSoftmax);
          }
          value_room.multiply(
              worker, {rows, s.value_size, s.keys, scores, s.keys, false, job.value.row(b, kv, 0),
                       job.value.row_stride, false, job.out.row(b, h, first), job.out.row_stride, false});
        }
      });
}

}  // namespace tenon::cpu
