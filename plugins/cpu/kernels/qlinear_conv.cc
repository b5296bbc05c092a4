#include "kernels/common/conv_integer.h"

namespace tenon::cpu {
namespace {

// Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B (int32, in units of
// x_scale * w_scale).
class QLinearConv {
 public:
  explicit QLinearConv(const NodeView& n) : window_(n), groups_(n.attr_i("group", 1)) {}
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kTypes).input(3, kTypes).input(8, TypeList<int32_t>()).output(0, kTypes);
  }
  using State = ConvIntegerState;
  State prepare(PrepareContext& p) const { return prepare_conv_integer(p, window_, groups_, 3); }
  void run(const Context& ctx, const State& window) const {
    const float x_scale = as_floats(ctx, ctx.input(1), 1)[0], y_scale = as_floats(ctx, ctx.input(6), 1)[0];
    const float y_zero = as_floats(ctx, ctx.input(7), 1)[0];
    const auto x_zero = static_cast<int32_t>(as_floats(ctx, ctx.input(2), 1)[0]);
    const std::span<const float> w_scale = as_floats(ctx, ctx.input(4), 1),
                                 w_zero = as_floats(ctx, ctx.input(5), 1);
    const int32_t* bias = ctx.has_input(8) ? ctx.input(8).data<int32_t>() : nullptr;
    dispatch(kTypes, ctx.output(0).dtype(), [&]<class T>() {
      T* y = ctx.output(0).template data<T>();
      convolve_integer(ctx, window, groups_, 3, x_zero, w_zero, [&](int64_t channel, int64_t i, int32_t sum) {
        if (bias != nullptr)  // wraps around, like the sums
          sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(bias[channel]));
        const float scale =
            x_scale * w_scale[w_scale.size() == 1 ? 0 : static_cast<size_t>(channel)] / y_scale;
        y[i] = quantize<T>(static_cast<float>(sum) * scale, y_zero, true);
      });
    });
  }

 private:
  static constexpr TypeList<int8_t, uint8_t> kTypes{};
  WindowAttributes window_;
  int64_t groups_;
};

TENON_KERNEL(QLinearConv, .op_type = "QLinearConv", .since = 10,
             .contract =
                 "x: [N, C, D...] & rank 3..; x_scale: one; x_zero_point: one; w: [M, C/$group, K...] & rank "
                 "x; w_scale: one | [M]; w_zero_point: one | [M]; y_scale: one; y_zero_point: one; B?: [M]")

}  // namespace
}  // namespace tenon::cpu
