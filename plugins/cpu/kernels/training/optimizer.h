// What the optimisers of ai.onnx.preview.training share. Inputs: rate, step count, n values, n gradients, n
// of each state. Outputs: n new values, n of each new state.
#pragma once

#include "kernels/common/shape.h"

namespace tenon::cpu {

template <int kStates>
class Optimizer {
 public:
  static constexpr TypeList<float, double> kTypes{};
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kTypes)
        .input(1, TypeList<int64_t>())
        .inputs(2, kTypes)
        .that(n.input_count() > 2 && (n.input_count() - 2) % (2 + kStates) == 0, TENON_REJECT_OTHER,
              n.input_count(), " inputs");
  }
  void prepare(PrepareContext& p) const {
    const int n = count(p.input_count());
    for (int t = 2; t < 2 + n; ++t)
      for (int k = 1; k < 2 + kStates; ++k) require_alike(t, p.input(t), t + k * n, p.input(t + k * n));
    for (int o = 0; o < n * (1 + kStates); ++o) p.set_output(o, p.input(2 + o % n).dims());
  }

 protected:
  explicit Optimizer(const NodeView& n) : norm_(static_cast<double>(n.attr_f("norm_coefficient", 0.0f))) {}

  /// Calls update(x, gradient, states) for every element, in double. It returns the new value and changes the
  /// states. The gradient includes the regularisation.
  template <class Update>
  void each_element(const Context& ctx, Update&& update) const {
    const int n = count(ctx.input_count());
    for (int t = 0; t < n; ++t) {
      dispatch(kTypes, ctx.input(2 + t).dtype(), [&]<class T>() { update_tensor<T>(ctx, t, n, update); });
    }
  }
  static double rate(const Context& ctx) {
    double out = 0;
    dispatch(kTypes, ctx.input(0).dtype(),
             [&]<class T>() { out = static_cast<double>(*ctx.input(0).data<T>()); });
    return out;
  }
  static int64_t step(const Context& ctx) { return *ctx.input(1).data<int64_t>(); }

 private:
  static void require_alike(int i, TensorView a, int k, TensorView b) {
    require(std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end()) &&
                a.dtype() == b.dtype(),
            TENON_INVALID_ARGUMENT, "inputs ", i, " and ", k, " differ in shape or type");
  }
  static int count(int inputs) { return (inputs - 2) / (2 + kStates); }

  template <class T, class Update>
  void update_tensor(const Context& ctx, int t, int n, Update& update) const {
    const int64_t size = ctx.input(2 + t).size();
    std::array<T*, 1 + kStates> out{};
    for (int k = 0; k <= kStates; ++k)
      if (ctx.has_output(k * n + t)) out[static_cast<size_t>(k)] = ctx.output(k * n + t).data<T>();
    CancelPoint point(ctx);
    for (int64_t i = 0; i < size; ++i) {
      point.pass();
      const auto in = [&](int k) { return static_cast<double>(ctx.input(2 + t + k * n).data<T>()[i]); };
      std::array<double, kStates> states{};
      for (int k = 0; k < kStates; ++k) states[static_cast<size_t>(k)] = in(2 + k);
      const double value = update(in(0), norm_ * in(0) + in(1), states);
      if (out[0] != nullptr) out[0][i] = static_cast<T>(value);
      for (size_t k = 0; k < kStates; ++k)
        if (out[k + 1] != nullptr) out[k + 1][i] = static_cast<T>(states[k]);
    }
  }

  double norm_;
};

}  // namespace tenon::cpu
