#include "kernels/common/checked.h"
#include "kernels/common/indices.h"
#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

/// Strides are in elements.
struct RotaryState {
  int64_t batch = 1, heads = 1, length = 1, size = 0, rotated = 0;
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
};

/// The positions of the inputs, which differ between the two domains.
struct RotaryInputs {
  int cosines, sines, positions;
};

// Rotates pairs of elements of each head by the angle of its position. X is [batch, heads, length, size] or
// [batch, length, heads * size]. The caches hold cosines and sines for each [batch, length], or for positions
// that position_ids [batch, length] select.
class RotaryEmbedding {
 public:
  using State = RotaryState;
  static Support supports(const NodeView& n) { return supports(n, kInputs); }
  explicit RotaryEmbedding(const NodeView& n) : RotaryEmbedding(n, kInputs) {}

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), cache = p.input(inputs_.cosines).dims();
    State s;
    s.batch = x[0];
    if (x.size() == 4) {
      s.heads = x[1], s.length = x[2], s.size = x[3];
      s.row_stride = s.size, s.head_stride = s.length * s.size;
    } else {
      s.heads = heads_of(x, cache), s.length = x[1], s.size = x[2] / s.heads;
      s.row_stride = x[2], s.head_stride = s.size;
    }
    s.batch_stride = s.heads * s.length * s.size;
    s.rotated = rotated_ > 0 ? rotated_ : s.size;
    require(s.rotated <= s.size && s.rotated % 2 == 0, TENON_INVALID_ARGUMENT, "rotary_embedding_dim is ",
            s.rotated, " for heads of ", s.size);
    const bool each_has_its_own = cache.size() == 3 || (s.batch == 1 && cache[0] == s.length);
    require(cache.back() == s.rotated / 2 && (p.has_input(inputs_.positions) || each_has_its_own),
            TENON_INVALID_ARGUMENT, "caches of shape ", cache, " for input ", x);
    p.set_output(0, x);
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    if (ctx.input(0).size() == 0) return;
    const int64_t half = s.rotated / 2, rows = s.batch * s.length;
    const DimsView places = places_of(ctx, s, half == 0 ? 1 : ctx.input(inputs_.cosines).size() / half);
    dispatch(kFloatTypes, ctx.input(0).dtype(), [&]<class T>() {
      using C = Compute<T>;
      const WorkerLists<C> all_cosines(ctx, half), all_sines(ctx, half);
      ctx.parallel_for(
          rows, std::max<int64_t>(1, kGrainCheap / (s.heads * s.size + 1)),
          [&](uint32_t worker, int64_t begin, int64_t end) {
            const std::span<C> cosines = all_cosines.of(worker), sines = all_sines.of(worker);
            for (int64_t r = begin; r < end; ++r) {
              ctx.check_cancelled();
              const int64_t place = places.empty() ? r : places[static_cast<size_t>(r)];
              load(ctx.input(inputs_.cosines), place * half, cosines);
              load(ctx.input(inputs_.sines), place * half, sines);
              for (int64_t h = 0; h < s.heads; ++h)
                turn<T>(ctx, r / s.length * s.batch_stride + h * s.head_stride + r % s.length * s.row_stride,
                        s, cosines, sines);
            }
          });
    });
  }

 protected:
  static Support supports(const NodeView& n, RotaryInputs inputs) {
    return Check(n)
        .input(0, kFloatTypes)
        .input(inputs.cosines, kFloatTypes)
        .input(inputs.sines, kFloatTypes)
        .input(inputs.positions, TypeList<int64_t>());
  }
  RotaryEmbedding(const NodeView& n, RotaryInputs inputs)
      : inputs_(inputs),
        interleaved_(n.attr_i("interleaved", 0) != 0),
        heads_(n.attr_i("num_heads", 0)),
        rotated_(n.attr_i("rotary_embedding_dim", 0)),
        contrib_(n.domain() == "com.microsoft") {}

 private:
  static constexpr RotaryInputs kInputs{1, 2, 3};

  /// Heads of an input [batch, length, heads * size]. In com.microsoft they may follow from the width of the
  /// caches.
  int64_t heads_of(DimsView x, DimsView cache) const {
    const int64_t size = checked_mul(cache.back(), 2, "the heads");
    const bool by_caches = contrib_ && heads_ == 0 && rotated_ == 0 && size > 0;
    require(!by_caches || x[2] % size == 0, TENON_INVALID_ARGUMENT, "caches of shape ", cache, " for input ",
            x);
    const int64_t heads = by_caches ? x[2] / size : heads_;
    require(heads > 0 && x[2] % heads == 0, TENON_INVALID_ARGUMENT, heads, " heads for input ", x);
    return heads;
  }

  /// The cache row of each (batch, position); empty: the row of the same index.
  DimsView places_of(const Context& ctx, const State& s, int64_t rows) const {
    if (!ctx.has_input(inputs_.positions)) return {};
    const DimsView given = checked_indices(ctx, ctx.input(inputs_.positions), rows);
    if (ctx.input(inputs_.positions).rank() == 2) return given;
    // A single number is the row of each batch's first position.
    require(given[0] <= rows - s.length, TENON_OUT_OF_RANGE, s.length, " positions from ", given[0], " of ",
            rows);
    const std::span<int64_t> out = scratch_list<int64_t>(ctx, s.batch * s.length);
    for (size_t i = 0; i < out.size(); ++i) out[i] = given[0] + static_cast<int64_t>(i) % s.length;
    return out;
  }

  template <class C>
  static void load(TensorView cache, int64_t first, std::span<C> to) {
    dispatch(kFloatTypes, cache.dtype(), [&]<class K>() {
      for (size_t i = 0; i < to.size(); ++i)
        to[i] = static_cast<C>(static_cast<Compute<K>>(cache.data<K>()[first + static_cast<int64_t>(i)]));
    });
  }

  template <class T, class C>
  void turn(const Context& ctx, int64_t at, const State& s, std::span<C> cosines, std::span<C> sines) const {
    const T* x = ctx.input(0).data<T>() + at;
    T* y = ctx.output(0).template data<T>() + at;
    const int64_t half = s.rotated / 2, step = interleaved_ ? 2 : 1, gap = interleaved_ ? 1 : half;
    for (int64_t i = 0; i < half; ++i) {
      const C a = static_cast<C>(x[i * step]), b = static_cast<C>(x[i * step + gap]);
      const C cosine = cosines[static_cast<size_t>(i)], sine = sines[static_cast<size_t>(i)];
      y[i * step] = static_cast<T>(cosine * a - sine * b);
      y[i * step + gap] = static_cast<T>(sine * a + cosine * b);
    }
    std::copy(x + s.rotated, x + s.size, y + s.rotated);
  }

  RotaryInputs inputs_;
  bool interleaved_;
  int64_t heads_, rotated_;
  bool contrib_;
};
TENON_KERNEL(RotaryEmbedding, .op_type = "RotaryEmbedding", .since = 23,
             .contract =
                 "X: [B, T, ?] | [B, ?, T, ?]; cos_cache: [?, ?] | [B, T, ?]; sin_cache: = cos_cache; "
                 "position_ids?: [B, T] @index")

// For nodes that cannot be rewritten to RotaryEmbedding of ai.onnx before shapes are known.
class MicrosoftRotaryEmbedding : public RotaryEmbedding {
 public:
  static Support supports(const NodeView& n) {
    const Check scaled =
        Check(n)
            .that(n.attr_f("scale", 1) == 1, TENON_REJECT_ATTRIBUTE, "scale is ", n.attr_f("scale", 1))
            .attr_is("is_packed_batching", {int64_t{0}});
    return scaled.ok() ? RotaryEmbedding::supports(n, kInputs) : scaled;
  }
  explicit MicrosoftRotaryEmbedding(const NodeView& n) : RotaryEmbedding(n, kInputs) {}

 private:
  static constexpr RotaryInputs kInputs{2, 3, 1};
};
TENON_KERNEL(MicrosoftRotaryEmbedding, .domain = "com.microsoft", .op_type = "RotaryEmbedding",
             .contract =
                 "input: [B, T, ?] | [B, ?, T, ?]; position_ids: [1] | [B, T] @index; cos_cache: [?, ?]; "
                 "sin_cache: = cos_cache")

}  // namespace
}  // namespace tenon::cpu
