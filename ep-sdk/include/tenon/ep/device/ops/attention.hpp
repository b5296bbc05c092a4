// Attention: for each query the mean of the values, weighted by the softmax of its scaled products with the keys. One launch, which
// stores no scores: when a score is the largest so far, the sums up to it shrink. Keys that are masked are not read, and a query that
// sees none gives zeros. present_key and present_value are copies.
//
// Kernel Attention: (q, k, v, mask, past_k, past_v, y, sizes, scale, has_scale, cap), a work-item for each query and each 32 elements
// of its result. AttentionOfLengths has (lengths, flag) after y: the number of keys of each sequence. Keys are those of past_k, then
// those of k. Settings: T for all tensors, B for the mask, PAST whether there is a past.
// Beside the backend of launch.hpp, B has typename B::Copies, the CopyKernels.
#ifndef TENON_EP_DEVICE_OPS_ATTENTION_HPP_
#define TENON_EP_DEVICE_OPS_ATTENTION_HPP_

#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

inline constexpr int64_t kAttentionTile = 32;  // elements of the result per work-item: TILE in the kernels

/// A struct of 32-bit integers, declared alike in the language of the kernels. Strides are those of batch, head and position, in
/// elements; of the mask those of batch, head and query.
struct AttentionSizes {
  int32_t batch = 0, heads = 0, kv_heads = 0;
  int32_t shared = 1;                       // heads of q per head of k and v
  int32_t queries = 0, keys = 0, past = 0;  // keys: with those of the past
  int32_t size = 0, value_size = 0, tiles = 0;
  int32_t mask_keys = -1;                        // keys beyond are masked; -1: no mask
  int32_t is_causal = 0, left = -1, right = -1;  // how many keys a query sees on each side; -1: all
  int32_t q[3] = {}, k[3] = {}, v[3] = {}, y[3] = {}, mask[3] = {};
};

struct AttentionState {
  AttentionSizes sizes;
  StridedCopy past[2], fresh[2];  // to present_key and present_value
};

/// The strides of [batch, heads, length, size], or of [batch, length, heads * size] with `heads_inside`.
inline std::array<int64_t, 3> head_strides(int64_t heads, int64_t length, int64_t size, bool heads_inside) {
  const int64_t row = product_of(heads, size);
  if (heads_inside) return {product_of(length, row), size, row};
  return {product_of(length, row), product_of(length, size), size};
}

/// What does not depend on the kernels.
class AttentionShape {
 public:
  static Support supports(const NodeView& n) {
    const uint32_t dtype = n.input(0).dtype();
    const auto is_alike = [&](int i) { return !n.has_input(i) || n.input(i).dtype() == dtype; };
    return Check(n)
        .input(0, kDeviceRealTypes)
        .input(3, kDeviceRealTypes + kBoolType)
        .input(6, TypeList<int64_t>())
        .that(is_alike(1) && is_alike(2) && is_alike(4) && is_alike(5), TENON_REJECT_TYPE,
              "queries, keys and values have different types")
        .that(n.has_input(4) == n.has_input(5), TENON_REJECT_OTHER,
              "past_key and past_value must be given together")
        .that(!n.has_output(3), TENON_REJECT_OTHER,
              "the output qk_matmul_output is not supported: scores are not stored");
  }
  explicit AttentionShape(const NodeView& n)
      : heads_(n.attr_i("q_num_heads", 0)),
        kv_heads_(n.attr_i("kv_num_heads", 0)),
        left_(n.attr_i("left_window_size", -1)),
        right_(n.attr_i("right_window_size", -1)),
        is_causal_(n.attr_i("is_causal", 0) != 0),
        has_scale_(n.has_attr("scale")),
        has_lengths_(n.has_input(6)),
        knows_lengths_(has_lengths_ && n.input(6).is_constant()),
        scale_(n.attr_f("scale", 1)),
        cap_(n.attr_f("softcap", 0)) {}

  AttentionState prepare(PrepareContext& p) const {
    const DimsView q = p.input(0).dims(), k = p.input(1).dims(), v = p.input(2).dims();
    const bool inside = q.size() == 3;
    require(!inside || (heads_ > 0 && kv_heads_ > 0 && q[2] % heads_ == 0 && k[2] % kv_heads_ == 0 &&
                        v[2] % kv_heads_ == 0),
            TENON_INVALID_ARGUMENT, heads_, " and ", kv_heads_, " heads for shapes ", q, ", ", k, " and ", v);
    const int64_t batch = q[0], heads = inside ? heads_ : q[1], kv_heads = inside ? kv_heads_ : k[1];
    const int64_t queries = q[inside ? 1 : 2], fresh = k[inside ? 1 : 2];
    const int64_t size = inside ? q[2] / heads : q[3], value_size = inside ? v[2] / kv_heads : v[3];
    require(!inside || k[2] / kv_heads == size, TENON_INVALID_ARGUMENT, "heads of Q and K differ in size");
    require(kv_heads > 0 && heads % kv_heads == 0, TENON_INVALID_ARGUMENT, heads,
            " heads of Q are not a multiple of the ", kv_heads, " heads of K and V");
    int64_t past = 0;
    if (p.has_input(4)) {
      const DimsView past_k = p.input(4).dims(), past_v = p.input(5).dims();
      require(past_k[1] == kv_heads && past_k[3] == size && past_v[3] == value_size, TENON_INVALID_ARGUMENT,
              "the cache has shapes ", past_k, " and ", past_v);
      past = past_k[2];
    }
    const int64_t keys = int64_t{narrow(past)} + narrow(fresh);
    for (int i = 0; i < 6; ++i) {
      if (p.has_input(i)) narrow(element_count(p.input(i).dims()));
    }
    narrow(2 * (keys + queries));  // kernels add a window to a position

    AttentionState out;
    AttentionSizes& s = out.sizes;
    s.batch = narrow(batch), s.heads = narrow(heads), s.kv_heads = narrow(kv_heads);
    s.shared = narrow(std::max<int64_t>(1, heads / kv_heads));
    s.queries = narrow(queries), s.keys = narrow(keys), s.past = narrow(past);
    s.size = narrow(size), s.value_size = narrow(value_size);
    s.tiles = narrow((value_size + kAttentionTile - 1) / kAttentionTile);
    s.is_causal = int32_t{is_causal_};
    // A window that is wider than all positions hides nothing.
    const auto window = [&](int64_t given) {
      return given < 0 || given >= keys + queries ? -1 : narrow(given);
    };
    s.left = window(left_), s.right = window(right_);
    put(s.q, head_strides(heads, queries, size, inside));
    put(s.k, head_strides(kv_heads, fresh, size, inside));
    put(s.v, head_strides(kv_heads, fresh, value_size, inside));
    put(s.y, head_strides(heads, queries, value_size, inside));
    if (p.has_input(3)) add_mask(p.input(3).dims(), s);
    if (knows_lengths_) require_lengths(p.input(6), keys);

    const Dims y = inside ? Dims{batch, queries, product_of(heads, value_size)}
                          : Dims{batch, heads, queries, value_size};
    narrow(element_count(y));
    p.set_output(0, y);
    for (const int i : {1, 2}) {
      const int64_t width = i == 1 ? size : value_size;
      const Dims present{batch, kv_heads, keys, width};
      p.set_output(i, present);
      if (!p.has_output(i)) continue;
      const Dims old{batch, kv_heads, past, width}, added{batch, kv_heads, fresh, width};
      const auto from = head_strides(kv_heads, fresh, width, inside);
      const Dims to = dense_strides(present);
      out.past[i - 1] = {make_walk(old, {dense_strides(old), to}), 0, 0};
      out.fresh[i - 1] = {make_walk(added, {Dims{from[0], from[1], from[2], 1}, to}), 0,
                          narrow(product_of(past, width))};
    }
    return out;
  }

 protected:
  template <class Recorder, class Copies>
  static void record_present(Recorder& ctx, const AttentionState& state, const Copies& copies) {
    for (const int i : {1, 2}) {
      if (!ctx.has_output(i)) continue;
      copies.record(ctx, state.past[i - 1], in(ctx.input(i + 3)), out(ctx.output(i)));
      copies.record(ctx, state.fresh[i - 1], in(ctx.input(i)), out(ctx.output(i)));
    }
  }

 private:
  static void put(int32_t (&to)[3], const std::array<int64_t, 3>& strides) {
    for (size_t d = 0; d < 3; ++d) to[d] = narrow(strides[d]);
  }
  /// A mask broadcasts to [batch, heads, queries], and has its own number of keys.
  static void add_mask(DimsView mask, AttentionSizes& s) {
    const int64_t full[] = {s.batch, s.heads, s.queries};
    bool fits = !mask.empty() && mask.size() <= 4 && mask.back() <= s.keys;
    for (size_t i = 1; fits && i < mask.size(); ++i)
      fits = mask[mask.size() - 1 - i] == 1 || mask[mask.size() - 1 - i] == full[3 - i];
    require(fits, TENON_INVALID_ARGUMENT, "a mask of shape ", mask, " for ", s.batch, " x ", s.heads, " x ",
            s.queries, " x ", s.keys, " scores");
    s.mask_keys = narrow(mask.back());
    int64_t stride = mask.back();
    for (size_t i = 1; i < mask.size(); ++i) {
      const int64_t dim = mask[mask.size() - 1 - i];
      s.mask[3 - i] = dim == 1 ? 0 : narrow(stride);
      stride *= dim;
    }
  }
  /// For constant lengths. The kernel looks at others.
  static void require_lengths(const TensorView& lengths, int64_t keys) {
    for (const int64_t length : lengths.span<int64_t>())
      require(length >= 0 && length <= keys, TENON_OUT_OF_RANGE, "nonpad_kv_seqlen is ", length,
              ", outside of [0, ", keys, "]");
  }

  int64_t heads_, kv_heads_, left_, right_;
  bool is_causal_;

 protected:
  bool has_scale_, has_lengths_, knows_lengths_;
  float scale_, cap_;
};

template <class B>
class Attention : public AttentionShape {
 public:
  explicit Attention(const NodeView& n)
      : AttentionShape(n),
        kernel_(B::load(
            n, has_lengths_ ? "AttentionOfLengths" : "Attention",
            {computes_in(n.input(0).dtype()), computes_in(n.input(n.has_input(3) ? 3 : 0).dtype(), "B"),
             number("PAST", n.has_input(4))})) {
    if (n.has_output(1) || n.has_output(2)) copies_ = typename B::Copies(n, n.input(0).dtype());
  }

  void record(typename B::Recorder& ctx, const AttentionState& state) const {
    record_present(ctx, state, copies_);
    if (!ctx.has_output(0)) return;
    const AttentionSizes& s = state.sizes;
    const int64_t items = int64_t{s.batch} * s.heads * s.tiles * s.queries;
    const auto attend = [&](const auto&... lengths) {
      launch(ctx, kernel_, items_of(items), in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)),
             in(ctx.input(3)), in(ctx.input(4)), in(ctx.input(5)), out(ctx.output(0)), lengths..., s, scale_,
             int32_t{has_scale_}, cap_);
    };
    if (has_lengths_)
      attend(in(ctx.input(6)), FlagArg{});
    else
      attend();
  }

 private:
  typename B::Kernel kernel_;
  typename B::Copies copies_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_ATTENTION_HPP_
