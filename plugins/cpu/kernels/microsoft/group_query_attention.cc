#include "kernels/common/attention_blocks.h"
#include "kernels/common/indices.h"
#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

constexpr TypeList<float, Float16, BFloat16> kTypes;

/// The cache has `room` keys; this call may use `total` of them.
struct GroupQueryState {
  AttentionShape shape;
  int64_t past = 0, room = 0, total = 0, row = 0;  // row: elements of one position of the query input
  bool packed = false;                             // the query input also holds K and V
};

// Attention over a cache, causal unless the node says otherwise. Each sequence has its own length: its past
// keys, then the new ones.
class GroupQueryAttention {
 public:
  using State = GroupQueryState;
  static constexpr int shape_inputs[] = {6};

  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kTypes)
        .input(5, TypeList<int32_t>())
        .input(6, TypeList<int32_t>())
        .input(9, TypeList<int64_t>())
        .input(10, kTypes)
        .input(11, kTypes)
        .attr_is("smooth_softmax", {0, 1, -1})
        .attr_is("do_rotary", {0, 1})
        .attr_is("causal", {0, 1})
        .attr_is("sliding_window_cache", {0})
        .attr_is("k_quant_type", {"NONE"})
        .attr_is("v_quant_type", {"NONE"})
        .attr_is("qk_output", {0})
        .that(!n.has_attr("kv_cache_bit_width") || n.attr_i("kv_cache_bit_width") == 0,
              TENON_REJECT_ATTRIBUTE, "a quantised cache (kv_cache_bit_width) is not supported")
        .that(n.attr_i("causal", 1) == 1 || n.attr_i("local_window_size", -1) == -1, TENON_REJECT_ATTRIBUTE,
              "a local window needs causal attention")
        .that(!n.has_input(14) && !n.has_input(15), TENON_REJECT_OTHER,
              "normalised queries and keys (q_norm_weight, k_norm_weight, qk_norm_epsilon) are not supported")
        .that(!n.has_input(12) && !n.has_input(13), TENON_REJECT_OTHER,
              "a quantised cache (k_scale, v_scale) is not supported")
        .that(!n.has_output(3), TENON_REJECT_OTHER, "output_qk is not supported")
        .that(n.has_input(1) == n.has_input(2) && n.has_input(3) == n.has_input(4), TENON_REJECT_OTHER,
              "keys and values must be given together");
  }

  explicit GroupQueryAttention(const NodeView& n)
      : heads_(n.attr_i("num_heads")),
        kv_heads_(n.attr_i("kv_num_heads")),
        window_(n.attr_i("local_window_size", -1)),
        causal_(n.attr_i("causal", 1) != 0),
        rotary_(n.attr_i("do_rotary", 0) != 0),
        interleaved_(n.attr_i("rotary_interleaved", 0) != 0),
        smooth_(n.attr_i("smooth_softmax", 0) == 1),
        scale_(n.attr_f("scale", 0.0f)),
        cap_(n.attr_f("softcap", 0.0f)),
        isa_(attention_for(n)) {
    constexpr int64_t kMost = int64_t{1} << 30;
    require(heads_ > 0 && heads_ < kMost && kv_heads_ > 0 && heads_ % kv_heads_ == 0, TENON_INVALID_ARGUMENT,
            "num_heads is ", heads_, " and kv_num_heads ", kv_heads_,
            "; num_heads must be a positive multiple of kv_num_heads");
  }

  State prepare(PrepareContext& p) const {
    const DimsView q = p.input(0).dims();
    State s;
    s.packed = !p.has_input(1);
    AttentionShape& a = s.shape;
    const int64_t columns = s.packed ? heads_ + 2 * kv_heads_ : heads_;
    a.batch = q[0], a.heads = heads_, a.kv_heads = kv_heads_, a.queries = q[1];
    a.size = a.value_size = q[2] / columns;
    s.row = q[2];
    require(q[2] % columns == 0, TENON_INVALID_ARGUMENT, columns, " heads for query ", q);
    require(s.packed || p.input(1).dim(2) == kv_heads_ * a.size, TENON_INVALID_ARGUMENT, "query ", q,
            " and key ", p.input(1).dims(), " with ", heads_, " and ", kv_heads_, " heads");
    if (p.has_input(3)) {
      s.past = p.input(3).dim(2);
      require(p.input(3).dim(3) == a.size, TENON_INVALID_ARGUMENT, "heads of ", a.size,
              " and a cache of shape ", p.input(3).dims());
    }
    s.total = only_int(p.input(6), "total_sequence_length");
    require(s.total >= 0, TENON_INVALID_ARGUMENT, "total_sequence_length is ", s.total);
    s.room = std::max(s.past, s.total);
    a.keys = std::min(s.room, s.total);
    require(!p.has_input(10) || p.input(10).dim(3) >= a.keys, TENON_INVALID_ARGUMENT,
            "attention_bias has shape ", p.input(10).dims(), " for ", a.keys, " keys");
    require(!rotary_ || (p.has_input(7) && p.has_input(8) && p.input(7).dim(1) <= a.size / 2),
            TENON_INVALID_ARGUMENT, "cos_cache and sin_cache are missing or do not fit heads of ", a.size);
    p.set_output(0, Dims{a.batch, a.queries, heads_ * a.size});
    for (int i = 1; i < 3; ++i) p.set_output(i, Dims{a.batch, kv_heads_, s.room, a.size});
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    dispatch(kTypes, ctx.input(0).dtype(), [&]<class T>() { run_typed<T>(ctx, s); });
  }

 private:
  /// The position of the first new key of a sequence.
  static int64_t begin_of(const Context& ctx, const State& s, int64_t batch) {
    const int64_t length = int64_t{ctx.input(5).data<int32_t>()[batch]} + 1;
    if (s.total == s.shape.queries) {  // a prompt: all keys are new, and a short sequence ends with padding
      require(length >= 1 && length <= s.total, TENON_OUT_OF_RANGE, "sequence ", batch, " has ", length,
              " keys of ", s.total);
      return 0;
    }
    require(length >= s.shape.queries && length <= s.total, TENON_OUT_OF_RANGE, "sequence ", batch, " has ",
            length, " keys of ", s.total, " after ", s.shape.queries, " new ones");
    require(length - s.shape.queries <= s.past, TENON_OUT_OF_RANGE, "sequence ", batch, " has ",
            length - s.shape.queries, " keys in a cache of ", s.past);
    return length - s.shape.queries;
  }

  /// The score of each head's sink: input 11, or 0 for smooth softmax. Null without sinks.
  const float* make_sinks(const Context& ctx) const {
    const TensorView given = ctx.input(11);
    if (!smooth_ && !given.present()) return nullptr;
    auto* sinks = ctx.scratch<float>(heads_);
    std::fill_n(sinks, heads_, 0.0f);
    if (given.present())
      dispatch(kTypes, given.dtype(), [&]<class T>() { to_float(given.data<T>(), sinks, heads_); });
    return sinks;
  }

  /// The keys that a query of a sequence may see.
  KeyRange seen(const Context& ctx, const State& s, int64_t b, int64_t i) const {
    const int64_t position = begin_of(ctx, s, b) + i;
    const int64_t end =
        causal_ ? position + 1 : std::max(position, int64_t{ctx.input(5).data<int32_t>()[b]}) + 1;
    return {window_ >= 0 ? std::max<int64_t>(0, position + 1 - window_) : 0, std::min(end, s.shape.keys)};
  }

  void compute(const Context& ctx, const State& s, const AttentionJob<float>& job) const {
    const auto seen_by = [&](int64_t b, int64_t i) { return seen(ctx, s, b, i); };
    if (!ctx.has_input(10) && attend_in_blocks(ctx, isa_, job, ScoreMask(ctx.input(10)), seen_by, false))
      return;
    attend<float>(ctx, job, [&](int64_t b, int64_t h, int64_t i, float* row) {
      constexpr float kNever = -std::numeric_limits<float>::infinity();
      const KeyRange range = seen_by(b, i);
      std::fill(row, row + range.begin, kNever);
      std::fill(row + range.end, row + s.shape.keys, kNever);
      if (ctx.has_input(10)) add_bias(ctx.input(10), b, h, i, range.begin, range.end, row);
      return range.begin < range.end;
    });
  }

  template <class T>
  void run_typed(const Context& ctx, const State& s) const {
    const AttentionShape& a = s.shape;
    const T* q = ctx.input(0).data<T>();
    const int64_t k_at = heads_ * a.size, v_at = k_at + kv_heads_ * a.size;
    const Heads<const T> query{q, a.queries * s.row, a.size, s.row};
    const int64_t width = s.packed ? s.row : kv_heads_ * a.size;
    const Heads<const T> key{s.packed ? q + k_at : ctx.input(1).data<T>(), a.queries * width, a.size, width},
        value{s.packed ? q + v_at : ctx.input(2).data<T>(), a.queries * width, a.size, width};

    AttentionJob<float> job;
    job.shape = a;
    auto* queries = ctx.scratch<float>(a.batch * a.heads * a.queries * a.size);
    load_queries<T>(ctx, s, query, queries);
    job.query = heads_of<const float>(queries, a.heads, a.queries, a.size, false);
    job.key = keys<T>(ctx, s, key, 1, rotary_);
    job.value = keys<T>(ctx, s, value, 2, false);
    const OutputTensor y = ctx.output(0);
    float* out = std::is_same_v<T, float> ? y.data<float>() : ctx.scratch<float>(y.size());
    job.out = heads_of(out, a.heads, a.queries, a.size, true);
    job.scale = scale_ != 0 ? scale_ : 1 / std::sqrt(static_cast<float>(a.size));
    job.cap = cap_;
    job.sinks = make_sinks(ctx);
    compute(ctx, s, job);
    if constexpr (!std::is_same_v<T, float>) store_float<T>(ctx, out, y);
  }

  template <class T>
  void load_queries(const Context& ctx, const State& s, const Heads<const T>& from, float* to) const {
    const AttentionShape& a = s.shape;
    const int64_t rows = a.batch * a.heads * a.queries;
    ctx.parallel_for(rows, std::max<int64_t>(1, kGrainCheap / (a.size + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t i = r % a.queries, h = r / a.queries % a.heads, b = r / a.queries / a.heads;
        float* row = to + r * a.size;
        to_float(from.row(b, h, i), row, a.size);
        if (rotary_) turn(ctx, s, b, i, row);
      }
    });
  }

  /// The cache with the new keys (or values): as output `output`, and as floats.
  template <class T>
  Heads<const float> keys(const Context& ctx, const State& s, const Heads<const T>& fresh, int output,
                          bool turned) const {
    const AttentionShape& a = s.shape;
    const int64_t planes = a.batch * a.kv_heads, plane = s.room * a.size;
    T* present = ctx.has_output(output) ? ctx.output(output).data<T>() : ctx.scratch<T>(planes * plane);
    const T* past = s.past > 0 ? ctx.input(output + 2).data<T>() : nullptr;
    const WorkerLists<float> rows(ctx, a.size);
    ctx.parallel_for(planes, std::max<int64_t>(1, kGrainCheap / (plane + 1)),
                     [&](uint32_t worker, int64_t begin, int64_t end) {
                       const std::span<float> row = rows.of(worker);
                       for (int64_t p = begin; p < end; ++p) {
                         const int64_t b = p / a.kv_heads, h = p % a.kv_heads, first = begin_of(ctx, s, b);
                         T* to = present + p * plane;
                         // Copies only this sequence's keys: after its end the cache may hold other data.
                         if (past != nullptr) std::copy_n(past + p * s.past * a.size, first * a.size, to);
                         std::fill(to + (first + a.queries) * a.size, to + plane, T{});
                         for (int64_t i = 0; i < a.queries; ++i) {
                           if (!turned) {
                             std::copy_n(fresh.row(b, h, i), a.size, to + (first + i) * a.size);
                             continue;
                           }
                           to_float(fresh.row(b, h, i), row.data(), a.size);
                           turn(ctx, s, b, i, row.data());
                           from_float(row.data(), to + (first + i) * a.size, a.size);
                         }
                       }
                     });
    if constexpr (std::is_same_v<T, float>) {
      return {present, a.kv_heads * plane, plane, a.size};
    } else {
      auto* floats = ctx.scratch<float>(planes * a.keys * a.size);
      ctx.parallel_for(planes, std::max<int64_t>(1, kGrainCheap / (plane + 1)),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t p = begin; p < end; ++p)
                           to_float(present + p * plane, floats + p * a.keys * a.size, a.keys * a.size);
                       });
      return heads_of<const float>(floats, a.kv_heads, a.keys, a.size, false);
    }
  }

  /// Rotates a row by the angle of new position `i` of a sequence.
  void turn(const Context& ctx, const State& s, int64_t batch, int64_t i, float* row) const {
    const TensorView cosines = ctx.input(7), sines = ctx.input(8);
    const int64_t half = cosines.dim(1);
    const int64_t place = ctx.has_input(9) ? ctx.input(9).data<int64_t>()[batch * s.shape.queries + i]
                                           : begin_of(ctx, s, batch) + i;
    require(place >= 0 && place < cosines.dim(0), TENON_OUT_OF_RANGE, "position ", place, " is outside [0, ",
            cosines.dim(0), ")");
    const int64_t step = interleaved_ ? 2 : 1, gap = interleaved_ ? 1 : half;
    dispatch(kTypes, cosines.dtype(), [&]<class T>() {
      const T *c = cosines.data<T>() + place * half, *n = sines.data<T>() + place * half;
      for (int64_t k = 0; k < half; ++k) {
        const auto cosine = static_cast<float>(c[k]), sine = static_cast<float>(n[k]);
        const float x = row[k * step], y = row[k * step + gap];
        row[k * step] = cosine * x - sine * y;
        row[k * step + gap] = sine * x + cosine * y;
      }
    });
  }

  /// `bias` is [batch or 1, heads or 1, queries, keys].
  static void add_bias(TensorView bias, int64_t b, int64_t h, int64_t i, int64_t begin, int64_t end,
                       float* row) {
    const int64_t at =
        (((bias.dim(0) == 1 ? 0 : b) * bias.dim(1) + (bias.dim(1) == 1 ? 0 : h)) * bias.dim(2) + i) *
        bias.dim(3);
    dispatch(kTypes, bias.dtype(), [&]<class T>() {
      for (int64_t k = begin; k < end; ++k) row[k] += static_cast<float>(bias.data<T>()[at + k]);
    });
  }

  int64_t heads_, kv_heads_, window_;
  bool causal_, rotary_, interleaved_, smooth_;
  float scale_, cap_;
  const isa::Attention& isa_;
};
TENON_KERNEL(GroupQueryAttention, .domain = "com.microsoft", .op_type = "GroupQueryAttention",
             .contract =
                 "query: [B, S, ?]; key?: [B, S, ?]; value?: = key; past_key?: [B, $kv_num_heads, P, E]; "
                 "past_value?: = past_key; seqlens_k: [B] | [B, 1] @index; total_sequence_length: one @size; "
                 "cos_cache?: [?, ?]; sin_cache?: = cos_cache; position_ids?: [B, S] @index; "
                 "attention_bias?: [1, 1, S, ?] | [B, 1, S, ?] | [1, $num_heads, S, ?] | [B, $num_heads, S, "
                 "?]; head_sink?: [$num_heads]; k_scale?: any; v_scale?: any; q_norm_weight?: any; "
                 "k_norm_weight?: any")

}  // namespace
}  // namespace tenon::cpu
