#include <cmath>

#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

// Y = (X - mean) / sqrt(var + epsilon) * scale + B for each channel. In training mode mean and variance are
// those of the batch, and outputs 1 and 2 are the running ones. Before version 9, spatial = 0 gives each
// activation its own mean.
class BatchNormalization {
 public:
  explicit BatchNormalization(const NodeView& n)
      : epsilon_(n.attr_f("epsilon", 1e-5f)),
        momentum_(n.attr_f("momentum", 0.9f)),
        training_(n.attr_i("training_mode", 0) != 0),
        spatial_(n.attr_i("spatial", 1) != 0) {}
  static Support supports(const NodeView& n) {
    Check check(n);
    for (int i = 0; i < 5; ++i) check.input(i, kFloatTypes);
    // Versions 1 and 6 have is_test; 7 and 9 are in training when there is more than one output.
    const bool old = n.since_version() < 14;
    return check.that(!old || n.output_count() == 1, TENON_REJECT_ATTRIBUTE,
                      "training with more than one output is not supported before version 14");
  }
  void prepare(PrepareContext& p) const {
    const TensorView in = p.input(0);
    const int64_t channels = in.rank() < 2 ? 1
                             : spatial_    ? in.dim(1)
                                           : count_between(in.dims(), 1, in.rank());
    require(p.input(1).size() == channels, TENON_INVALID_ARGUMENT, "scale has ", p.input(1).size(),
            " elements for ", channels, " channels");
    p.set_output(0, p.input(0).dims());
    p.set_output(1, p.input(3).dims());
    p.set_output(2, p.input(4).dims());
    if (!training_) p.may_overwrite(0, 0);
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const Around at = in.rank() < 2 ? Around{in.size(), 1, 1} : around(in.dims(), 1);
    const int64_t groups = spatial_ ? at.axis : at.axis * at.inner, run = spatial_ ? at.inner : 1;
    const std::span<double> scale = as_doubles(ctx, ctx.input(1)), bias = as_doubles(ctx, ctx.input(2)),
                            mean = as_doubles(ctx, ctx.input(3)), variance = as_doubles(ctx, ctx.input(4));
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() {
      if (training_) train<T>(ctx, at, mean, variance);
      const auto factor = scratch_list<Compute<T>>(ctx, groups),
                 offset = scratch_list<Compute<T>>(ctx, groups);
      for (size_t g = 0; g < factor.size(); ++g) {
        const double f = scale[g] / std::sqrt(variance[g] + static_cast<double>(epsilon_));
        factor[g] = static_cast<Compute<T>>(f);
        offset[g] = static_cast<Compute<T>>(bias[g] - mean[g] * f);
      }
      const T* x = in.data<T>();
      T* y = ctx.output(0).template data<T>();
      ctx.parallel_for(at.outer * groups, std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, run)),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t p = begin; p < end; ++p) {
                           const auto g = static_cast<size_t>(p % groups);
                           for (int64_t i = p * run; i < (p + 1) * run; ++i)
                             y[i] = static_cast<T>(static_cast<Compute<T>>(x[i]) * factor[g] + offset[g]);
                         }
                       });
    });
  }

 private:
  template <class T>
  void train(const Context& ctx, const Around& at, std::span<double> mean, std::span<double> variance) const {
    const T* x = ctx.input(0).data<T>();
    const double n = static_cast<double>(at.outer * at.inner);
    for (int64_t c = 0; c < at.axis; ++c) {
      double sum = 0, squares = 0;
      const auto each = [&](auto use) {
        for (int64_t o = 0; o < at.outer; ++o)
          for (int64_t i = 0; i < at.inner; ++i)
            use(static_cast<double>(static_cast<Compute<T>>(x[(o * at.axis + c) * at.inner + i])));
      };
      each([&](double v) { sum += v; });
      each([&](double v) { squares += (v - sum / n) * (v - sum / n); });
      const auto g = static_cast<size_t>(c);
      const double batch_mean = sum / n, batch_variance = squares / n, keep = static_cast<double>(momentum_);
      store(ctx, 1, c, mean[g] * keep + batch_mean * (1 - keep));
      store(ctx, 2, c, variance[g] * keep + batch_variance * (1 - keep));
      mean[g] = batch_mean;
      variance[g] = batch_variance;
    }
  }
  static void store(const Context& ctx, int output, int64_t i, double value) {
    if (!ctx.has_output(output)) return;
    const OutputTensor out = ctx.output(output);
    dispatch(kFloatTypes, out.dtype(),
             [&]<class U>() { out.set<U>(i, static_cast<U>(static_cast<Compute<U>>(value))); });
  }

  float epsilon_, momentum_;
  bool training_, spatial_;
};

// Before version 9 the parameters may have one element per activation.
TENON_KERNEL(BatchNormalization, .op_type = "BatchNormalization", .until = 8,
             .contract = "X: any; scale: any; B: = scale; mean: = scale; var: = scale")
TENON_KERNEL(BatchNormalization, .op_type = "BatchNormalization", .since = 9,
             .contract = "X: [N, C, D...] | rank 0..1; scale: [C]; B: [C]; mean: [C]; var: [C]")

}  // namespace
}  // namespace tenon::cpu
