#include <cmath>

#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kNumericTypes;

double mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz(double mel) { return 700 * (std::pow(10.0, mel / 2595) - 1); }

// Triangular filters of equal width on the mel scale: [dft_length / 2 + 1, number of filters].
class MelWeightMatrix {
 public:
  static constexpr int shape_inputs[] = {0, 1};
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kIndexTypes)
        .input(1, kIndexTypes)
        .input(2, kIndexTypes)
        .input(3, kFloatTypes)
        .input(4, kFloatTypes)
        .output(0, kTypes);
  }

  void prepare(PrepareContext& p) const {
    const int64_t filters = only_int(p.input(0), "num_mel_bins"), length = only_int(p.input(1), "dft_length");
    constexpr int64_t kMost = int64_t{1} << 40;
    require(filters >= 0 && length > 0, TENON_INVALID_ARGUMENT, "num_mel_bins is ", filters,
            " and dft_length ", length, "; they must be at least 0 and 1");
    require(filters < kMost && length < kMost, TENON_RESOURCE_EXHAUSTED, "num_mel_bins is ", filters,
            " and dft_length ", length, "; one is too large");
    p.set_output(0, Dims{length / 2 + 1, filters});
  }

  void run(const Context& ctx) const {
    const OutputTensor out = ctx.output(0);
    const std::span<const int64_t> edges = edge_bins(ctx);
    dispatch(kTypes, out.dtype(), [&]<class T>() {
      std::fill_n(out.data<T>(), out.size(), T{});
      for (int64_t f = 0; f < out.dim(1); ++f) {
        ctx.check_cancelled();
        fill(out, f, edges.data() + f, [](double w) { return static_cast<T>(w); });
      }
    });
  }

 private:
  /// The filters' corner bins: filter f begins at corner f, peaks at f + 1, ends at f + 2.
  static std::span<const int64_t> edge_bins(const Context& ctx) {
    const int64_t filters = ctx.output(0).dim(1), length = only_int(ctx.input(1), "dft_length"),
                  rate = only_int(ctx.input(2), "sample_rate"), bins = ctx.output(0).dim(0);
    require(rate > 0, TENON_INVALID_ARGUMENT, "sample_rate is ", rate);
    const double low = mel(as_doubles(ctx, ctx.input(3))[0]), high = mel(as_doubles(ctx, ctx.input(4))[0]);
    const double step = (high - low) / static_cast<double>(filters + 2);
    const std::span<int64_t> out = scratch_list<int64_t>(ctx, filters + 2);
    for (int64_t i = 0; i < filters + 2; ++i) {
      const double bin = std::floor(static_cast<double>(length + 1) *
                                    hertz(low + static_cast<double>(i) * step) / static_cast<double>(rate));
      require(bin >= 0 && bin < static_cast<double>(bins), TENON_INVALID_ARGUMENT,
              "the edges of the spectrum must be between 0 and half of the sample rate");
      out[static_cast<size_t>(i)] = static_cast<int64_t>(bin);
    }
    return out;
  }

  template <class Make>
  static void fill(OutputTensor out, int64_t filter, const int64_t* edge, Make&& make) {
    using T = decltype(make(0.0));
    const int64_t filters = out.dim(1);
    const auto at = [&](int64_t bin) -> T& { return out.data<T>()[bin * filters + filter]; };
    const auto rise = static_cast<double>(edge[1] - edge[0]), fall = static_cast<double>(edge[2] - edge[1]);
    if (edge[1] == edge[0]) at(edge[1]) = make(1);
    for (int64_t bin = edge[0]; rise > 0 && bin <= edge[1]; ++bin)
      at(bin) = make(static_cast<double>(bin - edge[0]) / rise);
    for (int64_t bin = edge[1]; fall > 0 && bin < edge[2]; ++bin)
      at(bin) = make(static_cast<double>(edge[2] - bin) / fall);
  }
};
TENON_KERNEL(MelWeightMatrix, .op_type = "MelWeightMatrix", .since = 17,
             .contract =
                 "num_mel_bins: one @size; dft_length: one @size; sample_rate: one; lower_edge_hertz: one; "
                 "upper_edge_hertz: one")

}  // namespace
}  // namespace tenon::cpu
