#include "kernels/common/random.h"
#include "kernels/common/shape.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kNumericTypes + kBoolType;

// Draws 1 with the probability given for each element, else 0.
class Bernoulli {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).output(0, kTypes); }
  explicit Bernoulli(const NodeView& n) : seed_(n) {}
  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const OutputTensor out = ctx.output(0);
    RandomStream stream = seed_.stream();
    for (int64_t i = 0; i < in.size(); ++i) {
      double p = 0;
      dispatch(kFloatTypes, in.dtype(),
               [&]<class T>() { p = static_cast<double>(static_cast<Compute<T>>(in.data<T>()[i])); });
      require(p >= 0 && p <= 1, TENON_INVALID_ARGUMENT, "element ", i, " is ", p,
              ", which is not a probability");
      // Compares on the side of the rarer outcome, as NumPy does.
      const double u = stream.uniform();
      const bool hit = p <= 0.5 ? u > 1 - p : u <= p;
      dispatch(kTypes, out.dtype(), [&]<class T>() { out.data<T>()[i] = static_cast<T>(hit ? 1 : 0); });
    }
  }

 private:
  RandomSeed seed_;
};
TENON_KERNEL(Bernoulli, .op_type = "Bernoulli", .since = 15, .contract = "input: any")

}  // namespace
}  // namespace tenon::cpu
