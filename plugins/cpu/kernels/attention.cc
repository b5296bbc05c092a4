#include "kernels/common/attention_blocks.h"
#include "kernels/common/checked.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kFloatTypes;

struct AttentionState {
  AttentionShape shape;
  int64_t past = 0;           // keys in the cache before this call
  bool heads_inside = false;  // rank 3
};

// Q, K and V have rank 3 (heads inside the last dim) or 4. The mask broadcasts to [batch, heads, queries,
// keys]. Earlier keys and values are a past input; or K and V are the whole cache, with the number of valid
// keys of each sequence as an input.
class Attention {
 public:
  using State = AttentionState;
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kTypes)
        .input(1, kTypes)
        .input(2, kTypes)
        .input(3, ScoreMask::kTypes)
        .input(4, kTypes)
        .input(5, kTypes)
        .input(6, TypeList<int64_t>())
        .that(n.input(1).dtype() == n.input(0).dtype() && n.input(2).dtype() == n.input(0).dtype(),
              TENON_REJECT_TYPE, "Q, K and V have different types")
        .attr_is("qk_matmul_output_mode", {0, 1, 2, 3})
        .that(n.has_input(4) == n.has_input(5), TENON_REJECT_OTHER,
              "past_key and past_value must be given together");
  }

  explicit Attention(const NodeView& n)
      : heads_(n.attr_i("q_num_heads", 0)),
        kv_heads_(n.attr_i("kv_num_heads", 0)),
        mode_(n.attr_i("qk_matmul_output_mode", 0)),
        left_(window_size(n, "left_window_size")),
        right_(window_size(n, "right_window_size")),
        causal_(n.attr_i("is_causal", 0) != 0),
        has_scale_(n.has_attr("scale")),
        scale_(static_cast<double>(n.attr_f("scale", 1.0f))),
        cap_(static_cast<double>(n.attr_f("softcap", 0.0f))),
        isa_(attention_for(n)) {}

  State prepare(PrepareContext& p) const {
    const DimsView q = p.input(0).dims(), k = p.input(1).dims(), v = p.input(2).dims();
    State s;
    s.heads_inside = q.size() == 3;
    AttentionShape& a = s.shape;
    a.batch = q[0];
    if (s.heads_inside) {
      require(
          heads_ > 0 && kv_heads_ > 0 && q[2] % heads_ == 0 && k[2] % kv_heads_ == 0 && v[2] % kv_heads_ == 0,
          TENON_INVALID_ARGUMENT, heads_, " and ", kv_heads_, " heads for shapes ", q, ", ", k, " and ", v);
      a.heads = heads_, a.kv_heads = kv_heads_, a.queries = q[1], a.keys = k[1];
      a.size = q[2] / heads_, a.value_size = v[2] / kv_heads_;
      require(k[2] / kv_heads_ == a.size, TENON_INVALID_ARGUMENT, "heads of Q and K differ in size");
    } else {
      a.heads = q[1], a.kv_heads = k[1], a.queries = q[2], a.keys = k[2], a.size = q[3], a.value_size = v[3];
    }
    require(a.kv_heads > 0 && a.heads % a.kv_heads == 0, TENON_INVALID_ARGUMENT, a.heads,
            " heads of Q are not a multiple of the ", a.kv_heads, " heads of K and V");
    add_past(p, s);
    check_mask(p, a);
    p.set_output(0, s.heads_inside ? Dims{a.batch, a.queries, a.heads * a.value_size}
                                   : Dims{a.batch, a.heads, a.queries, a.value_size});
    p.set_output(1, Dims{a.batch, a.kv_heads, a.keys, a.size});
    p.set_output(2, Dims{a.batch, a.kv_heads, a.keys, a.value_size});
    p.set_output(3, Dims{a.batch, a.heads, a.queries, a.keys});
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    dispatch(kTypes, ctx.input(0).dtype(), [&]<class T>() { run_typed<T>(ctx, s); });
  }

 private:
  /// The number of keys that a query sees on one side; -1: all. Larger sizes than any tensor become -1.
  static int64_t window_size(const NodeView& n, std::string_view name) {
    const int64_t size = n.attr_i(name, -1);
    return size < (int64_t{1} << 48) ? std::max<int64_t>(size, -1) : -1;
  }
  static void add_past(PrepareContext& p, State& s) {
    if (!p.has_input(4)) return;
    AttentionShape& a = s.shape;
    const DimsView k = p.input(4).dims(), v = p.input(5).dims();
    require(k[1] == a.kv_heads && k[3] == a.size && v[3] == a.value_size, TENON_INVALID_ARGUMENT,
            "the cache has shapes ", k, " and ", v);
    s.past = k[2];
    a.keys = checked_add(a.keys, k[2], "the number of keys");
  }
  static void check_mask(PrepareContext& p, const AttentionShape& a) {
    if (!p.has_input(3)) return;
    const DimsView mask = p.input(3).dims();
    const int64_t full[] = {a.batch, a.heads, a.queries};
    bool fits = !mask.empty() && mask.size() <= 4 && mask.back() <= a.keys;
    for (size_t i = 1; fits && i < mask.size(); ++i)
      fits = mask[mask.size() - 1 - i] == 1 || mask[mask.size() - 1 - i] == full[3 - i];
    require(fits, TENON_INVALID_ARGUMENT, "a mask of shape ", mask, " for ", a.batch, " x ", a.heads, " x ",
            a.queries, " x ", a.keys, " scores");
  }

  template <class T>
  void run_typed(const Context& ctx, const State& s) const {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const AttentionShape& a = s.shape;
    AttentionJob<C> job;
    job.shape = a;
    job.query = heads_of(widen<T, C>(ctx, ctx.input(0).data<T>(), ctx.input(0).size()), a.heads, a.queries,
                         a.size, s.heads_inside);
    job.key = keys<T, C>(ctx, s, 1, a.size);
    job.value = keys<T, C>(ctx, s, 2, a.value_size);
    const OutputTensor y = ctx.output(0);
    C* out = result<T, C>(ctx, y);
    job.out = heads_of(out, a.heads, a.queries, a.value_size, s.heads_inside);
    job.scale = static_cast<C>(has_scale_ ? scale_ : 1 / std::sqrt(static_cast<double>(a.size)));
    job.cap = static_cast<C>(cap_);
    job.score_kind = static_cast<ScoreKind>(mode_);
    if (ctx.has_output(3)) job.scores = result<T, C>(ctx, ctx.output(3));
    compute(ctx, s, job);
    narrow<T, C>(ctx, out, y);
    if (ctx.has_output(3)) narrow<T, C>(ctx, job.scores, ctx.output(3));
  }

  template <class T, class C>
  static const C* widen(const Context& ctx, const T* from, int64_t n) {
    if constexpr (std::is_same_v<T, C>) {
      return from;
    } else {
      auto* out = ctx.scratch<float>(n);
      ctx.parallel_for(n, kGrainCheap,
                       [&](int64_t begin, int64_t end) { to_float(from + begin, out + begin, end - begin); });
      return out;
    }
  }
  template <class T, class C>
  static C* result(const Context& ctx, OutputTensor to) {
    if constexpr (std::is_same_v<T, C>)
      return to.data<T>();
    else
      return ctx.scratch<C>(to.size());
  }
  template <class T, class C>
  static void narrow(const Context& ctx, const C* from, OutputTensor to) {
    if constexpr (!std::is_same_v<T, C>) store_float<T>(ctx, from, to);
  }

  /// K or V (`input` 1 or 2) with the past before it. Also writes output `input`, if used.
  template <class T, class C>
  static Heads<const C> keys(const Context& ctx, const State& s, int input, int64_t size) {
    const AttentionShape& a = s.shape;
    const TensorView fresh = ctx.input(input);
    const bool wanted = ctx.has_output(input);
    if (s.past == 0 && !wanted)
      return heads_of(widen<T, C>(ctx, fresh.data<T>(), fresh.size()), a.kv_heads, a.keys, size,
                      s.heads_inside);
    const int64_t total = a.batch * a.kv_heads * a.keys * size, added = a.keys - s.past;
    T* present = wanted ? ctx.output(input).data<T>() : ctx.scratch<T>(total);
    const Heads<const T> from = heads_of(fresh.data<T>(), a.kv_heads, added, size, s.heads_inside);
    const T* cached = s.past > 0 ? ctx.input(input + 3).data<T>() : nullptr;
    ctx.parallel_for(a.batch * a.kv_heads, std::max<int64_t>(1, kGrainCheap / (a.keys * size + 1)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         T* to = present + i * a.keys * size;
                         if (cached != nullptr)
                           to = std::copy_n(cached + i * s.past * size, s.past * size, to);
                         for (int64_t k = 0; k < added; ++k)
                           to = std::copy_n(from.row(i / a.kv_heads, i % a.kv_heads, k), size, to);
                       }
                     });
    return heads_of(widen<T, C>(ctx, present, total), a.kv_heads, a.keys, size, false);
  }

  /// The keys that causality, the window, the number of valid keys and the length of the mask leave to a query, as a
  /// function of its sequence and place.
  auto make_seen(const Context& ctx, const State& s, const ScoreMask& mask) const {
    const int64_t* valid = ctx.has_input(6) ? ctx.input(6).data<int64_t>() : nullptr;
    for (int64_t b = 0; valid != nullptr && b < s.shape.batch; ++b)
      require(valid[b] >= 0 && valid[b] <= s.shape.keys, TENON_OUT_OF_RANGE, "nonpad_kv_seqlen of sequence ",
              b, " is ", valid[b], ", outside [0, ", s.shape.keys, "]");
    const int64_t most = mask.values.present() ? mask.keys : s.shape.keys;
    return [this, &s, most, valid](int64_t b, int64_t i) {
      const int64_t position = i + (valid != nullptr && s.past == 0 ? valid[b] - s.shape.queries : s.past);
      KeyRange out{0, most};
      if (causal_) out.end = std::min(out.end, position + 1);
      if (left_ >= 0) out.begin = std::max(out.begin, position - left_);
      if (right_ >= 0) out.end = std::min(out.end, position + right_ + 1);
      if (valid != nullptr) out.end = std::min(out.end, valid[b]);
      out.begin = std::min(out.begin, s.shape.keys);
      out.end = std::max(out.end, out.begin);
      return out;
    };
  }

  template <class C>
  void compute(const Context& ctx, const State& s, const AttentionJob<C>& job) const {
    const ScoreMask mask(ctx.input(3));
    const auto seen = make_seen(ctx, s, mask);
    if constexpr (std::is_same_v<C, float>) {
      const bool sees_all = !causal_ && left_ < 0 && right_ < 0 && !ctx.has_input(6) &&
                            (!mask.values.present() || mask.keys == s.shape.keys);
      if (job.scores == nullptr && attend_in_blocks(ctx, isa_, job, mask, seen, sees_all)) return;
    }
    constexpr C kNever = -std::numeric_limits<C>::infinity();
    attend<C>(ctx, job, [&](int64_t b, int64_t h, int64_t i, C* row) {
      const KeyRange range = seen(b, i);
      std::fill(row, row + range.begin, kNever);
      std::fill(row + range.end, row + s.shape.keys, kNever);
      return mask.values.present() ? mask.add(mask.place(b, h, i), range, row) : range.begin < range.end;
    });
  }

  int64_t heads_, kv_heads_, mode_, left_, right_;
  bool causal_, has_scale_;
  double scale_, cap_;
  const isa::Attention& isa_;
};
TENON_KERNEL(
    Attention, .op_type = "Attention", .since = 23,
    .contract =
        "Q: rank 3..4; K: [Q.0, ?, ?] & rank Q | [Q.0, ?, ?, Q.-1] & rank Q; V: [Q.0, K.1, ?] & rank Q "
        "| [Q.0, K.1, K.2, ?] & rank Q; attn_mask?: rank 1..4; past_key?: [Q.0, ?, P, ?]; "
        "past_value?: [Q.0, past_key.1, P, ?]; nonpad_kv_seqlen?: [Q.0] @index")

}  // namespace
}  // namespace tenon::cpu
