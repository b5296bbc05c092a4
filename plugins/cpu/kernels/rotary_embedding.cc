#include "kernels/common/indices.h"
#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

/// One signature. Steps are in elements.
struct RotaryState {
  int64_t batch = 1, heads = 1, length = 1, size = 0, rotated = 0;
  int64_t batch_step = 0, head_step = 0, row_step = 0;
};

// Turns pairs of elements of each head by the angle of its position. X [batch, heads, length, size] or
// [batch, length, heads * size]; the caches hold cosines and sines for [batch, length], or for every
// position, of which position_ids [batch, length] choose.
class RotaryEmbedding {
 public:
  using State = RotaryState;
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kFloatTypes)
        .input(1, kFloatTypes)
        .input(2, kFloatTypes)
        .input(3, TypeList<int64_t>());
  }
  explicit RotaryEmbedding(const NodeView& n)
      : interleaved_(n.attr_i("interleaved", 0) != 0),
        heads_(n.attr_i("num_heads", 0)),
        rotated_(n.attr_i("rotary_embedding_dim", 0)) {}

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), cache = p.input(1).dims();
    State s;
    s.batch = x[0];
    if (x.size() == 4) {
      s.heads = x[1], s.length = x[2], s.size = x[3];
      s.row_step = s.size, s.head_step = s.length * s.size;
    } else {
      require(heads_ > 0 && x[2] % heads_ == 0, TENON_INVALID_ARGUMENT, heads_, " heads for input ", x);
      s.heads = heads_, s.length = x[1], s.size = x[2] / heads_;
      s.row_step = x[2], s.head_step = s.size;
    }
    s.batch_step = s.heads * s.length * s.size;
    s.rotated = rotated_ > 0 ? rotated_ : s.size;
    require(s.rotated <= s.size && s.rotated % 2 == 0, TENON_INVALID_ARGUMENT, "rotary_embedding_dim is ",
            s.rotated, " for heads of ", s.size);
    const bool each_has_its_own = cache.size() == 3 || (s.batch == 1 && cache[0] == s.length);
    require(cache.back() == s.rotated / 2 && (p.has_input(3) || each_has_its_own), TENON_INVALID_ARGUMENT,
            "caches of shape ", cache, " for input ", x);
    p.set_output(0, x);
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    if (ctx.input(0).size() == 0) return;
    const int64_t half = s.rotated / 2, rows = s.batch * s.length;
    DimsView places;
    if (ctx.has_input(3))
      places = checked_indices(ctx, ctx.input(3), half == 0 ? 1 : ctx.input(1).size() / half);
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
              load(ctx.input(1), place * half, cosines);
              load(ctx.input(2), place * half, sines);
              for (int64_t h = 0; h < s.heads; ++h)
                turn<T>(ctx, r / s.length * s.batch_step + h * s.head_step + r % s.length * s.row_step, s,
                        cosines, sines);
            }
          });
    });
  }

 private:
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

  bool interleaved_;
  int64_t heads_, rotated_;
};
TENON_KERNEL(RotaryEmbedding, .op_type = "RotaryEmbedding", .since = 23,
             .contract =
                 "X: [B, T, ?] | [B, ?, T, ?]; cos_cache: [?, ?] | [B, T, ?]; sin_cache: = cos_cache; "
                 "position_ids?: [B, T] @index")

}  // namespace
}  // namespace tenon::cpu
