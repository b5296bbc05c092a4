#include "kernels/common/recurrent.h"

namespace tenon::cpu {
namespace {

// Gates i, o, f, c: Ct = f Ct-1 + i c; Ht = o h(Ct). The peepholes of i and f use Ct-1, that of o uses Ct.
// With input_forget the forget gate is 1 - i.
class Lstm : public RecurrentBase {
 public:
  explicit Lstm(const NodeView& n) : RecurrentBase(n, 4, {"Sigmoid", "Tanh", "Tanh"}) {}

  void run(const Context& ctx) const {
    dispatch(kFloatTypes, ctx.input(0).dtype(), [&]<class T>() {
      using C = Compute<T>;
      const int64_t hidden = ctx.input(2).dims().back();
      const GemmRoom<C> room(ctx, sizes(ctx).batch, 4 * hidden, hidden);
      run_directions<C, T>(ctx, [&](const RecurrentDirection<C>& d, C* gates, C* h, C* c, int64_t rows) {
        gemm<C>(ctx, {rows, 4 * hidden, hidden, h, hidden, false, d.r, hidden, true, gates, 4 * hidden, true},
                room);
        for (int64_t b = 0; b < rows; ++b)
          step(d, gates + b * 4 * hidden, h + b * hidden, c + b * hidden, hidden);
      });
    });
  }

 private:
  template <class C>
  void step(const RecurrentDirection<C>& d, C* g, C* h, C* c, int64_t n) const {
    C *input = g, *output = g + n, *forget = g + 2 * n, *candidate = g + 3 * n;
    for (int64_t i = 0; i < 4 * n; ++i) g[i] += d.w_bias[i] + d.r_bias[i];
    if (d.peephole != nullptr)
      for (int64_t i = 0; i < n; ++i) {
        input[i] += d.peephole[i] * c[i];
        forget[i] += d.peephole[2 * n + i] * c[i];
      }
    clip_gates(input, n, clip_);
    clip_gates(forget, 2 * n, clip_);
    d.activations[0].apply(input, n);
    d.activations[0].apply(forget, n);
    d.activations[1].apply(candidate, n);
    for (int64_t i = 0; i < n; ++i) {
      if (input_forget_) forget[i] = 1 - input[i];
      c[i] = forget[i] * c[i] + input[i] * candidate[i];
      if (d.peephole != nullptr) output[i] += d.peephole[n + i] * c[i];
    }
    clip_gates(output, n, clip_);
    d.activations[0].apply(output, n);
    std::copy_n(c, n, h);
    d.activations[2].apply(h, n);
    for (int64_t i = 0; i < n; ++i) h[i] *= output[i];
  }
};

TENON_KERNEL(Lstm, .op_type = "LSTM",
             .contract =
                 "X: rank 3; W: [D, 4*H, X.2]; R: [D, 4*H, H]; B?: [D, 8*H]; sequence_lens?: rank 1; "
                 "initial_h?: rank 3; initial_c?: rank 3; P?: [D, 3*H]")

}  // namespace
}  // namespace tenon::cpu
