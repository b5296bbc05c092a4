#include "kernels/common/recurrent.h"

namespace tenon::cpu {
namespace {

// Ht = f(Xt W^T + Ht-1 R^T + Wb + Rb)
class Rnn : public RecurrentBase {
 public:
  explicit Rnn(const NodeView& n) : RecurrentBase(n, 1, {"Tanh"}) {}

  void run(const Context& ctx) const {
    dispatch(kFloatTypes, ctx.input(0).dtype(), [&]<class T>() {
      using C = Compute<T>;
      const int64_t hidden = ctx.input(2).dims().back();
      const GemmRoom<C> room(ctx, sizes(ctx).batch, hidden, hidden);
      run_directions<C, T>(ctx, [&](const RecurrentDirection<C>& d, C* gates, C* h, C*, int64_t rows) {
        gemm<C>(ctx, {rows, hidden, hidden, h, hidden, false, d.r, hidden, true, gates, hidden, true}, room);
        for (int64_t i = 0; i < rows * hidden; ++i) gates[i] += d.w_bias[i % hidden] + d.r_bias[i % hidden];
        clip_gates(gates, rows * hidden, clip_);
        d.activations[0].apply(gates, rows * hidden);
        std::copy_n(gates, rows * hidden, h);
      });
    });
  }
};

TENON_KERNEL(Rnn, .op_type = "RNN",
             .contract =
                 "X: rank 3; W: [D, H, X.2]; R: [D, H, H]; B?: [D, 2*H]; sequence_lens?: rank 1; "
                 "initial_h?: rank 3")

}  // namespace
}  // namespace tenon::cpu
