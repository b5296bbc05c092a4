#include "kernels/common/recurrent.h"

namespace tenon::cpu {
namespace {

// Gates z, r, h; Ht = (1 - z) h + z Ht-1. With linear_before_reset, r is applied after the product with R.
class Gru : public RecurrentBase {
 public:
  explicit Gru(const NodeView& n) : RecurrentBase(n, 3, {"Sigmoid", "Tanh"}) {}

  void run(const Context& ctx) const {
    dispatch(kFloatTypes, ctx.input(0).dtype(), [&]<class T>() {
      using C = Compute<T>;
      const int64_t hidden = ctx.input(2).dims().back();
      const int64_t batch = sizes(ctx).batch, state = batch * hidden;
      const GemmRoom<C> room(ctx, batch, 2 * hidden, hidden);
      C *product = scratch_list<C>(ctx, state).data(), *reset = scratch_list<C>(ctx, state).data();
      run_directions<C, T>(ctx, [&](const RecurrentDirection<C>& d, C* gates, C* h, C*, int64_t rows) {
        step(ctx, d, gates, h, rows, hidden, product, reset, room);
      });
    });
  }

 private:
  template <class C>
  void step(const Context& ctx, const RecurrentDirection<C>& d, C* gates, C* h, int64_t rows, int64_t n,
            C* product, C* reset, const GemmRoom<C>& room) const {
    const int64_t width = 3 * n;
    // The products of Ht-1 with R for z and r: the first 2n columns of the gates.
    gemm<C>(ctx, {rows, 2 * n, n, h, n, false, d.r, n, true, gates, width, true}, room);
    for (int64_t b = 0; b < rows; ++b) {
      C* g = gates + b * width;
      for (int64_t i = 0; i < 2 * n; ++i) g[i] += d.w_bias[i] + d.r_bias[i];
      clip_gates(g, 2 * n, clip_);
      d.activations[0].apply(g, 2 * n);
    }
    const C* source = h;
    if (!linear_before_reset_) {
      for (int64_t b = 0; b < rows; ++b)
        for (int64_t i = 0; i < n; ++i) reset[b * n + i] = gates[b * width + n + i] * h[b * n + i];
      source = reset;
    }
    gemm<C>(ctx, {rows, n, n, source, n, false, d.r + 2 * n * n, n, true, product, n, false}, room);
    for (int64_t b = 0; b < rows; ++b) {
      C* g = gates + b * width;
      C* candidate = g + 2 * n;
      const C* p = product + b * n;
      for (int64_t i = 0; i < n; ++i) {
        const C recurrent = p[i] + d.r_bias[2 * n + i];
        candidate[i] += d.w_bias[2 * n + i] + (linear_before_reset_ ? g[n + i] * recurrent : recurrent);
      }
      clip_gates(candidate, n, clip_);
      d.activations[1].apply(candidate, n);
      for (int64_t i = 0; i < n; ++i) h[b * n + i] = (1 - g[i]) * candidate[i] + g[i] * h[b * n + i];
    }
  }
};

TENON_KERNEL(Gru, .op_type = "GRU",
             .contract =
                 "X: rank 3; W: [D, 3*H, X.2]; R: [D, 3*H, H]; B?: [D, 6*H]; sequence_lens?: rank 1; "
                 "initial_h?: rank 3")

}  // namespace
}  // namespace tenon::cpu
