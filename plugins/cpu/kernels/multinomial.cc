#include "kernels/common/random.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu {
namespace {

// Input [N, classes]: logarithms of probabilities, up to a constant. Output [N, sample_size].
class Multinomial {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).output(0, kIndexTypes); }
  explicit Multinomial(const NodeView& n) : seed_(n), samples_(n.attr_i("sample_size", 1)) {}

  void prepare(PrepareContext& p) const {
    const DimsView in = p.input(0).dims();
    require(samples_ >= 0, TENON_INVALID_ARGUMENT, "sample_size is ", samples_);
    require(in[1] > 0 || in[0] == 0 || samples_ == 0, TENON_INVALID_ARGUMENT, "there are no classes");
    p.set_output(0, Dims{in[0], samples_});
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    if (ctx.output(0).size() == 0) return;
    RandomStream stream = seed_.stream();
    const std::span<double> sums = scratch_list<double>(ctx, in.dim(1));
    CancelPoint point(ctx);
    for (int64_t row = 0; row < in.dim(0); ++row) {
      accumulate(in, row, sums);
      point.pass(in.dim(1));
      for (int64_t s = 0; s < samples_; ++s) {
        point.pass();
        const double at = stream.uniform() * sums.back();
        const auto found = std::upper_bound(sums.begin(), sums.end(), at) - sums.begin();
        const int64_t winner = std::min<int64_t>(found, in.dim(1) - 1);
        dispatch(kIndexTypes, ctx.output(0).dtype(),
                 [&]<class T>() { ctx.output(0).data<T>()[row * samples_ + s] = static_cast<T>(winner); });
      }
    }
  }

 private:
  /// Running sums of the probabilities of a row.
  static void accumulate(TensorView in, int64_t row, std::span<double> sums) {
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() {
      const T* from = in.data<T>() + row * in.dim(1);
      double top = -std::numeric_limits<double>::infinity(), sum = 0;
      for (size_t i = 0; i < sums.size(); ++i)
        top = std::max(top, static_cast<double>(static_cast<Compute<T>>(from[i])));
      for (size_t i = 0; i < sums.size(); ++i)
        sums[i] = sum += std::exp(static_cast<double>(static_cast<Compute<T>>(from[i])) - top);
    });
  }

  RandomSeed seed_;
  int64_t samples_;
};
TENON_KERNEL(Multinomial, .op_type = "Multinomial", .since = 7, .contract = "input: [N, C]")

}  // namespace
}  // namespace tenon::cpu
