#include "kernels/common/conv_integer.h"

namespace tenon::cpu {
namespace {

class ConvInteger {
 public:
  explicit ConvInteger(const NodeView& n) : window_(n), groups_(n.attr_i("group", 1)) {}
  static Support supports(const NodeView& n) {
    return Check(n).input(0, TypeList<int8_t, uint8_t>()).input(1, TypeList<int8_t, uint8_t>());
  }
  using State = ConvIntegerState;
  State prepare(PrepareContext& p) const { return prepare_conv_integer(p, window_, groups_, 1); }
  void run(const Context& ctx, const State& window) const {
    int32_t* y = ctx.output(0).data<int32_t>();
    const auto x_zero = static_cast<int32_t>(as_floats(ctx, ctx.input(2), 1)[0]);
    convolve_integer(ctx, window, groups_, 1, x_zero, as_floats(ctx, ctx.input(3), 1),
                     [y](int64_t, int64_t i, int32_t sum) { y[i] = sum; });
  }

 private:
  WindowAttributes window_;
  int64_t groups_;
};

TENON_KERNEL(ConvInteger, .op_type = "ConvInteger", .since = 10,
             .contract =
                 "x: [N, C, D...] & rank 3..; w: [M, C/$group, K...] & rank x; x_zero_point?: one; "
                 "w_zero_point?: one | [M]")

}  // namespace
}  // namespace tenon::cpu
