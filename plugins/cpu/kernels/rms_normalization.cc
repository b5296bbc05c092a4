#include <cmath>

#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

// x / sqrt(mean of squares + epsilon) * scale over the dims from `axis` on, in float32 or double. The older
// SimplifiedLayerNormalization also gives the inverse of the root.
class RmsNormalization {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kFloatTypes)
        .input(1, kFloatTypes)
        .attr_is("stash_type", {int64_t{TENON_FLOAT32}});
  }
  explicit RmsNormalization(const NodeView& n)
      : axis_(n.attr_i("axis", -1)), epsilon_(static_cast<double>(n.attr_f("epsilon", 1e-5f))) {}

  /// The scale's index for each normalised element; empty: the element's own index.
  using State = std::vector<int64_t>;
  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const auto axis = static_cast<size_t>(normalize_axis(axis_, static_cast<int>(x.size())));
    const DimsView scale = p.input(1).dims();
    // The contract says that the scale broadcasts. In addition, its dims before `axis` must be 1.
    bool fits = true;
    for (size_t i = 1; i <= scale.size(); ++i)
      fits = fits && (x.size() - i >= axis || scale[scale.size() - i] == 1);
    require(fits, TENON_INVALID_ARGUMENT, "scale ", scale, " for input ", x, " from axis ", axis_, " on");
    p.set_output(0, x);
    Dims statistics(x.begin(), x.end());
    std::fill(statistics.begin() + static_cast<int64_t>(axis), statistics.end(), 1);
    p.set_output(1, statistics);
    if (element_count(x) == 0) return {};
    p.require_memory(static_cast<uint64_t>(element_count(x.subspan(axis))) * sizeof(int64_t),
                     "the indices of the scales");
    return spread_scale(scale, x.subspan(axis));
  }

  void run(const Context& ctx, const State& places) const {
    if (ctx.input(0).size() == 0 && (!ctx.has_output(1) || ctx.output(1).size() == 0)) return;
    const DimsView x = ctx.input(0).dims();
    const int axis = normalize_axis(axis_, static_cast<int>(x.size()));
    const int64_t rows = count_between(x, 0, axis), n = count_between(x, axis, static_cast<int>(x.size()));
    if (all_float32(ctx)) return run_vector(ctx, places, rows, n);
    std::span<const double> scale = as_doubles(ctx, ctx.input(1));
    if (!places.empty()) {
      const std::span<double> spread = scratch_list<double>(ctx, n);
      for (size_t i = 0; i < spread.size(); ++i) spread[i] = scale[static_cast<size_t>(places[i])];
      scale = spread;
    }
    dispatch(kFloatTypes, ctx.input(0).dtype(), [&]<class T>() {
      ctx.parallel_for(rows, std::max<int64_t>(1, kGrainCheap / (n + 1)), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) normalize<T>(ctx, r, n, scale);
      });
    });
  }

 private:
  static State spread_scale(DimsView scale, DimsView inner) {
    State out;
    if (element_count(scale) == element_count(inner)) return out;
    const Dims strides = strides_of(scale);
    for (Odometer at(inner); !at.done(); at.next()) {
      int64_t offset = 0;
      for (size_t i = 1; i <= std::min(inner.size(), strides.size()); ++i) {
        const size_t d = strides.size() - i;
        if (scale[d] != 1) offset += at.index()[inner.size() - i] * strides[d];
      }
      out.push_back(offset);
    }
    return out;
  }

  static bool all_float32(const Context& ctx) {
    return ctx.input(0).dtype() == TENON_FLOAT32 && ctx.input(1).dtype() == TENON_FLOAT32 &&
           ctx.has_output(0) && ctx.output(0).dtype() == TENON_FLOAT32;
  }
  void run_vector(const Context& ctx, const State& places, int64_t rows, int64_t n) const {
    const float* scale = ctx.input(1).data<float>();
    if (!places.empty()) {
      const std::span<float> spread = scratch_list<float>(ctx, n);
      for (size_t i = 0; i < spread.size(); ++i) spread[i] = scale[places[i]];
      scale = spread.data();
    }
    const float* x = ctx.input(0).data<float>();
    float* y = ctx.output(0).data<float>();
    ctx.parallel_for(rows, std::max<int64_t>(1, kGrainCheap / (n + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const double inverse = isa_table().rms_norm(x + r * n, scale, y + r * n, n, epsilon_);
        if (ctx.has_output(1)) store_statistic(ctx, r, inverse);
      }
    });
  }
  static void store_statistic(const Context& ctx, int64_t row, double inverse) {
    const OutputTensor statistics = ctx.output(1);
    dispatch(kFloatTypes, statistics.dtype(), [&]<class S>() {
      statistics.data<S>()[row] = static_cast<S>(static_cast<Compute<S>>(inverse));
    });
  }

  template <class T>
  void normalize(const Context& ctx, int64_t row, int64_t n, std::span<const double> scale) const {
    using C = Compute<T>;
    const T* x = ctx.input(0).data<T>() + row * n;
    double squares = 0;
    if constexpr (std::is_same_v<T, float>) {
      squares = static_cast<double>(isa_table().sum_of_squares(x, n));
    } else {
      for (int64_t i = 0; i < n; ++i)
        squares += static_cast<double>(static_cast<C>(x[i])) * static_cast<double>(static_cast<C>(x[i]));
    }
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(n) + epsilon_);
    if (ctx.has_output(0)) {
      // The output has the element type of the scale.
      const OutputTensor y = ctx.output(0);
      dispatch(kFloatTypes, y.dtype(), [&]<class Y>() {
        Y* out = y.data<Y>() + row * n;
        for (int64_t i = 0; i < n; ++i) {
          // Rounded to the input's type before scaling, like the Cast in the specification.
          const T normalized =
              static_cast<T>(static_cast<C>(static_cast<double>(static_cast<C>(x[i])) * inverse));
          out[i] = static_cast<Y>(static_cast<Compute<Y>>(static_cast<double>(static_cast<C>(normalized)) *
                                                          scale[static_cast<size_t>(i)]));
        }
      });
    }
    if (ctx.has_output(1)) store_statistic(ctx, row, inverse);
  }

  int64_t axis_;
  double epsilon_;
};
TENON_KERNEL(RmsNormalization, .op_type = "RMSNormalization", .since = 23, .contract = "X: any; scale: ~ X")
TENON_KERNEL(RmsNormalization, .op_type = "SimplifiedLayerNormalization", .contract = "X: any; scale: ~ X")

}  // namespace
}  // namespace tenon::cpu
