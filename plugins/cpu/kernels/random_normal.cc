#include "kernels/common/random.h"
#include "kernels/common/shape.h"

namespace tenon::cpu {
namespace {

// Random numbers for output 0. The shape is an attribute, or that of input 0.
template <bool kNormal>
class RandomTensor {
 public:
  static Support supports(const NodeView& n) { return Check(n).output(0, kFloatTypes); }
  explicit RandomTensor(const NodeView& n)
      : seed_(n),
        like_(n.input_count() > 0),
        shape_(n.attr_ints("shape")),
        first_(static_cast<double>(kNormal ? n.attr_f("mean", 0.0f) : n.attr_f("low", 0.0f))),
        second_(static_cast<double>(kNormal ? n.attr_f("scale", 1.0f) : n.attr_f("high", 1.0f))) {}

  void prepare(PrepareContext& p) const { p.set_output(0, like_ ? p.input(0).dims() : DimsView(shape_)); }

  void run(const Context& ctx) const {
    const OutputTensor out = ctx.output(0);
    RandomStream stream = seed_.stream();
    dispatch(kFloatTypes, out.dtype(), [&]<class T>() {
      CancelPoint point(ctx);
      for (T& x : out.span<T>()) {
        point.pass();
        x = static_cast<T>(kNormal ? first_ + second_ * stream.normal()
                                   : first_ + (second_ - first_) * stream.uniform());
      }
    });
  }

 private:
  RandomSeed seed_;
  bool like_;
  Dims shape_;
  double first_, second_;
};
using RandomNormal = RandomTensor<true>;
using RandomUniform = RandomTensor<false>;
TENON_KERNEL(RandomNormal, .op_type = "RandomNormal", .contract = "none")
TENON_KERNEL(RandomNormal, .op_type = "RandomNormalLike", .contract = "X: any")
TENON_KERNEL(RandomUniform, .op_type = "RandomUniform", .contract = "none")
TENON_KERNEL(RandomUniform, .op_type = "RandomUniformLike", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
