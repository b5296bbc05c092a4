#include <cmath>

#include "kernels/common/shape.h"

namespace tenon::cpu {
namespace {

/// One channel: `past` (k - 1 elements, zeros when null), then `x`. Gives element i of both.
template <class T>
struct Line {
  const T *past, *x;
  int64_t before;
  Compute<T> at(int64_t i) const {
    if (i >= before) return static_cast<Compute<T>>(x[i - before]);
    return past == nullptr ? Compute<T>(0) : static_cast<Compute<T>>(past[i]);
  }
};

// Convolves each channel with its own kernel over the past elements. The last ones become the next call's
// state.
class CausalConvWithState {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.needs_input(0).needs_input(1).attr_is("activation", {"none", "silu", "swish"});
    for (int i = 0; i < n.input_count(); ++i) check.input(i, kFloatTypes);
    return check;
  }
  explicit CausalConvWithState(const NodeView& n) : silu_(n.attr_s("activation", "none") != "none") {}

  void prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), w = p.input(1).dims();
    require(w[2] > 0, TENON_INVALID_ARGUMENT, "the weights of shape ", w, " are empty");
    require(!p.has_input(3) || p.input(3).dim(2) == w[2] - 1, TENON_INVALID_ARGUMENT, "past_state of shape ",
            p.input(3).dims(), " for windows of ", w[2], " elements");
    p.set_output(0, x);
    p.set_output(1, Dims{x[0], x[1], w[2] - 1});
  }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    dispatch(kFloatTypes, x.dtype(), [&]<class T>() {
      const int64_t grain = std::max<int64_t>(1, kGrainCostly / std::max<int64_t>(1, x.dim(2)));
      ctx.parallel_for(x.dim(0) * x.dim(1), grain, [&](int64_t begin, int64_t end) {
        for (int64_t line = begin; line < end; ++line) one_channel<T>(ctx, line);
      });
    });
  }

 private:
  template <class T>
  void one_channel(const Context& ctx, int64_t line) const {
    const int64_t length = ctx.input(0).dim(2), k = ctx.input(1).dim(2), channel = line % ctx.input(0).dim(1);
    const T* past = ctx.has_input(3) ? ctx.input(3).data<T>() + line * (k - 1) : nullptr;
    const Line<T> in{past, ctx.input(0).data<T>() + line * length, k - 1};
    const T* w = ctx.input(1).data<T>() + channel * k;
    using C = Compute<T>;
    const C bias = ctx.has_input(2) ? static_cast<C>(ctx.input(2).data<T>()[channel]) : C(0);
    for (int64_t i = 0; ctx.has_output(0) && i < length; ++i) {
      C sum = bias;
      for (int64_t j = 0; j < k; ++j) sum += static_cast<C>(w[j]) * in.at(i + j);
      ctx.output(0).data<T>()[line * length + i] = static_cast<T>(silu_ ? sum / (1 + std::exp(-sum)) : sum);
    }
    for (int64_t i = 0; ctx.has_output(1) && i < k - 1; ++i)
      ctx.output(1).data<T>()[line * (k - 1) + i] = static_cast<T>(in.at(length + i));
  }

  bool silu_;
};
TENON_KERNEL(CausalConvWithState, .op_type = "CausalConvWithState", .since = 27,
             .contract = "input: [N, C, L]; weight: [C, 1, K]; bias?: [C]; past_state?: [N, C, ?]")

}  // namespace
}  // namespace tenon::cpu
