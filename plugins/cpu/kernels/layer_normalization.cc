#include <cmath>
#include "kernels/common/broadcast.h"

#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

// Statistics over the dims from `axis` on, in float32 or double. Outputs Y, Mean, InvStdDev.
class LayerNormalization {
 public:
  explicit LayerNormalization(const NodeView& n)
      : axis_(n.attr_i("axis", -1)), epsilon_(n.attr_f("epsilon", 1e-5f)) {}
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kFloatTypes)
        .input(1, kFloatTypes)
        .input(2, kFloatTypes)
        .attr_is("stash_type", {int64_t{TENON_FLOAT32}});
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const int axis = normalize_axis(axis_, in.rank());
    const int64_t rows = count_between(in.dims(), 0, axis), n = count_between(in.dims(), axis, in.rank());
    const TensorView scale = ctx.input(1), bias = ctx.input(2);
    const bool whole = is_whole(scale, in, axis) && (!bias.present() || is_whole(bias, in, axis));
    if (in.dtype() == TENON_FLOAT32 && scale.dtype() == TENON_FLOAT32 && whole && n > 0)
      return run_float(ctx, rows, n);
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() { run_any<T>(ctx, axis, rows, n); });
  }

 private:
  void run_float(const Context& ctx, int64_t rows, int64_t n) const {
    const float* x = ctx.input(0).data<float>();
    const float* scale = ctx.input(1).data<float>();
    const float* bias = ctx.has_input(2) ? ctx.input(2).data<float>() : nullptr;
    float* y = ctx.output(0).data<float>();
    ctx.parallel_for(rows, std::max<int64_t>(1, kGrainCheap / n), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        float mean = 0, inverse = 0;
        isa_table().layer_norm(x + r * n, scale, bias, y + r * n, n, epsilon_, &mean, &inverse);
        if (ctx.has_output(1)) ctx.output(1).data<float>()[r] = mean;
        if (ctx.has_output(2)) ctx.output(2).data<float>()[r] = inverse;
      }
    });
  }

  /// Scale or bias, broadcast along the input.
  struct Parameter {
    std::span<const double> values;
    int64_t row_stride = 0;  // 0: the same for all rows

    double at(int64_t row, int64_t i) const { return values[static_cast<size_t>(row * row_stride + i)]; }
  };
  /// Whether all rows share the parameter: its dims before the normalised ones are 1.
  static bool is_shared(DimsView parameter, size_t normalized) {
    const size_t outer = parameter.size() - std::min(parameter.size(), normalized);
    return std::all_of(parameter.begin(), parameter.begin() + static_cast<int64_t>(outer),
                       [](int64_t d) { return d == 1; });
  }
  /// Whether the parameter has one element per element of a row, without broadcasting.
  static bool is_whole(TensorView parameter, TensorView in, int axis) {
    const DimsView row = in.dims().subspan(static_cast<size_t>(axis));
    return is_shared(parameter.dims(), row.size()) && parameter.size() == element_count(row);
  }
  static Parameter laid_out(const Context& ctx, int input, int axis) {
    const TensorView given = ctx.input(input);
    if (!given.present()) return {};
    const std::span<const double> values = as_doubles(ctx, given);
    DimsView dims = given.dims(), target = ctx.input(0).dims();
    const DimsView row = target.subspan(static_cast<size_t>(axis));
    const bool shared = is_shared(dims, row.size());
    if (shared) target = row, dims = dims.last(std::min(dims.size(), row.size()));
    const std::span<double> out = scratch_list<double>(ctx, element_count(target));
    const Broadcast<1> walk(target, {dims});
    if (!out.empty())
      walk.for_runs(0, walk.runs, [&](const std::array<int64_t, 1>& from, int64_t to) {
        for (int64_t i = 0; i < walk.run; ++i)
          out[static_cast<size_t>(to + i)] = values[static_cast<size_t>(from[0] + i * walk.run_strides[0])];
      });
    return {out, shared ? 0 : element_count(row)};
  }

  template <class T>
  void run_any(const Context& ctx, int axis, int64_t rows, int64_t n) const {
    const Parameter scale = laid_out(ctx, 1, axis), bias = laid_out(ctx, 2, axis);
    const bool biased = ctx.has_input(2);
    const T* x = ctx.input(0).data<T>();
    T* y = ctx.output(0).template data<T>();
    for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
      ctx.check_cancelled();
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(static_cast<Compute<T>>(x[i]));
      const double mean = sum / static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i) {
        const double d = static_cast<double>(static_cast<Compute<T>>(x[i])) - mean;
        squares += d * d;
      }
      const double inverse = 1 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(epsilon_));
      for (int64_t i = 0; i < n; ++i) {
        // Rounded to the stored type before scaling, like the Cast in the specification.
        const T normalized = static_cast<T>(
            static_cast<Compute<T>>((static_cast<double>(static_cast<Compute<T>>(x[i])) - mean) * inverse));
        double value = static_cast<double>(static_cast<Compute<T>>(normalized)) * scale.at(r, i);
        if (biased) value += bias.at(r, i);
        y[i] = static_cast<T>(static_cast<Compute<T>>(value));
      }
      store_statistic(ctx, 1, r, mean);
      store_statistic(ctx, 2, r, inverse);
    }
  }
  static void store_statistic(const Context& ctx, int output, int64_t row, double value) {
    if (!ctx.has_output(output)) return;
    const OutputTensor out = ctx.output(output);
    dispatch(kFloatTypes, out.dtype(),
             [&]<class U>() { out.set<U>(row, static_cast<U>(static_cast<Compute<U>>(value))); });
  }

  int64_t axis_;
  float epsilon_;
};

TENON_KERNEL(LayerNormalization, .op_type = "LayerNormalization", .since = 17,
             .contract = "X: rank 1..; Scale: ~ X; B?: ~ X")

}  // namespace
}  // namespace tenon::cpu
