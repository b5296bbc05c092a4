#include <cmath>

#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

// Statistics over the dims from `axis` on, in float32 at least; outputs Y, Mean, InvStdDev.
class LayerNormalization {
 public:
  explicit LayerNormalization(const NodeView& n)
      : axis_(n.attr_i("axis", -1)), epsilon_(n.attr_f("epsilon", 1e-5f)) {}
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kFloatTypes).input(1, kFloatTypes).input(2, kFloatTypes);
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const int axis = normalize_axis(axis_, in.rank());
    const int64_t rows = count_between(in.dims(), 0, axis), n = count_between(in.dims(), axis, in.rank());
    const TensorView scale = ctx.input(1), bias = ctx.input(2);
    const bool whole = scale.size() == n && (!bias.present() || bias.size() == n);
    if (in.dtype() == TENON_FLOAT32 && scale.dtype() == TENON_FLOAT32 && whole && n > 0)
      return run_float(ctx, rows, n);
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() { run_any<T>(ctx, rows, n); });
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

  // Scale and bias broadcast to the normalised dims.
  static double parameter(std::span<const double> values, int64_t i) {
    return values[static_cast<size_t>(i) % values.size()];
  }

  template <class T>
  void run_any(const Context& ctx, int64_t rows, int64_t n) const {
    const std::span<const double> scale = as_doubles(ctx, ctx.input(1));
    const std::span<const double> bias =
        ctx.has_input(2) ? as_doubles(ctx, ctx.input(2)) : std::span<double>();
    require(!scale.empty() || n == 0, TENON_INVALID_ARGUMENT, "scale has no elements");
    const T* x = ctx.input(0).data<T>();
    T* y = ctx.output(0).template data<T>();
    for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(static_cast<Compute<T>>(x[i]));
      const double mean = sum / static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i) {
        const double d = static_cast<double>(static_cast<Compute<T>>(x[i])) - mean;
        squares += d * d;
      }
      const double inverse = 1 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(epsilon_));
      for (int64_t i = 0; i < n; ++i) {
        // Rounded to the stored type before scaling, as the specification's Cast says.
        const T normalized = static_cast<T>(
            static_cast<Compute<T>>((static_cast<double>(static_cast<Compute<T>>(x[i])) - mean) * inverse));
        double value = static_cast<double>(static_cast<Compute<T>>(normalized)) * parameter(scale, i);
        if (!bias.empty()) value += parameter(bias, i);
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

TENON_KERNEL(LayerNormalization, .op_type = "LayerNormalization", .since = 17)

}  // namespace
}  // namespace tenon::cpu
