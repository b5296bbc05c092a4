#include <cmath>

#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

class LpNormalization {
 public:
  explicit LpNormalization(const NodeView& n) : axis_(n.attr_i("axis", -1)), p_(n.attr_i("p", 2)) {}
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).attr_is("p", {1, 2}); }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const Around at = around(in.dims(), normalize_axis(axis_, in.rank()));
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() {
      for_each_line<T>(ctx, at, [this](auto* x, int64_t n) {
        double norm = 0;
        for (int64_t i = 0; i < n; ++i)
          norm += p_ == 1 ? std::abs(double{x[i]}) : double{x[i]} * double{x[i]};
        if (p_ == 2) norm = std::sqrt(norm);
        // A line of zeros stays zero.
        for (int64_t i = 0; i < n; ++i)
          x[i] = norm == 0 ? 0 : static_cast<std::remove_reference_t<decltype(*x)>>(x[i] / norm);
      });
    });
  }

 private:
  int64_t axis_, p_;
};

TENON_KERNEL(LpNormalization, .op_type = "LpNormalization", .contract = "input: rank 1..")

}  // namespace
}  // namespace tenon::cpu
