// CausalConvWithState: convolves each channel with its own kernel over the past elements. The last ones become the next call's
// state.
#include "kernels/common/kernel.h"
#include "tenon/ep/device/axes.hpp"

namespace tenon::cuda {
namespace {

// A line is a channel of an image: `taps` - 1 elements of the past, zeros if it is missing, and then those of x. A thread does
// one element of y or of the state.
constexpr Source kSource{"causal_conv", R"CU(
KERNEL CausalConv(IN(T, x), IN(T, weights), IN(T, bias), IN(T, past), OUT(T, y), OUT(T, state), int lines,
                  int channels, int length, int taps, int is_silu) {
  const int before = taps - 1;
  EACH_Y(line, lines) {
    const T *from = x + line * length, *w = weights + line % channels * taps;
    const auto at = [&](int i) {
      if (i >= before) return (C)from[i - before];
      return past != nullptr ? (C)past[line * before + i] : (C)0;
    };
    EACH(i, (int64)length + before) {
      if (i >= length) {
        if (state != nullptr) state[line * before + i - length] = at((int)i);
        continue;
      }
      if (y == nullptr) continue;
      C sum = bias != nullptr ? (C)bias[line % channels] : (C)0;
      for (int k = 0; k < taps; ++k) sum += (C)w[k] * at((int)i + k);
      y[line * length + i] = is_silu ? (C)(sum / (1 + exp(-sum))) : sum;
    }
  }
}
)CU"};
using Kernels = Backend<kSource>;

struct CausalState {
  int32_t lines, channels, length, taps;
};

class CausalConvWithState {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kDeviceRealTypes)
        .needs_input(0)
        .needs_input(1)
        .attr_is("activation", {"none", "silu", "swish"});
  }
  explicit CausalConvWithState(const NodeView& n)
      : is_silu_(n.attr_s("activation", "none") != "none"),
        kernel_(Kernels::load(n, "CausalConv", {computes_in(n.input(0).dtype())})) {}
  CausalState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), w = p.input(1).dims();
    require(w[2] > 0, TENON_INVALID_ARGUMENT, "the weights of shape ", w, " are empty");
    require(!p.has_input(3) || p.input(3).dim(2) == w[2] - 1, TENON_INVALID_ARGUMENT, "past_state of shape ",
            p.input(3).dims(), " for windows of ", w[2], " elements");
    p.set_output(0, x);
    p.set_output(1, Dims{x[0], x[1], w[2] - 1});
    narrow(x[2] + w[2]);
    return {narrow(product_of(x[0], x[1])), narrow(x[1]), narrow(x[2]), narrow(w[2])};
  }
  void record(Recorder& ctx, const CausalState& s) const {
    const auto optional = [&](int i) {
      return ctx.has_output(i) ? out(ctx.output(i)) : TensorArg{&kNoTensor};
    };
    const auto width = static_cast<size_t>(s.length) + static_cast<size_t>(s.taps) - 1;
    launch(ctx, kernel_, {width, static_cast<size_t>(s.lines), 1}, in(ctx.input(0)), in(ctx.input(1)),
           in(ctx.input(2)), in(ctx.input(3)), optional(0), optional(1), s.lines, s.channels, s.length,
           s.taps, int32_t{is_silu_});
  }

 private:
  bool is_silu_;
  KernelRef kernel_;
};
TENON_KERNEL(CausalConvWithState, .op_type = "CausalConvWithState", .since = 27,
             .contract = "input: [N, C, L]; weight: [C, 1, K]; bias?: [C]; past_state?: [N, C, ?]")

}  // namespace
}  // namespace tenon::cuda
