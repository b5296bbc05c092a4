#include "kernels/training/optimizer.h"

namespace tenon::cpu {
namespace {

class Momentum : public Optimizer<1> {
 public:
  static Support supports(const NodeView& n) {
    const Support general = Optimizer::supports(n);
    return general ? Check(n).attr_is("mode", {"standard", "nesterov"}) : general;
  }
  explicit Momentum(const NodeView& n)
      : Optimizer(n),
        alpha_(static_cast<double>(n.attr_f("alpha"))),
        beta_(static_cast<double>(n.attr_f("beta"))),
        nesterov_(n.attr_s("mode") == "nesterov") {}

  void run(const Context& ctx) const {
    const double r = rate(ctx), beta = step(ctx) > 0 ? beta_ : 1;
    each_element(ctx, [&](double x, double g, std::array<double, 1>& states) {
      states[0] = alpha_ * states[0] + beta * g;
      return x - r * (nesterov_ ? g + alpha_ * states[0] : states[0]);
    });
  }

 private:
  double alpha_, beta_;
  bool nesterov_;
};
TENON_KERNEL(Momentum, .domain = "ai.onnx.preview.training", .op_type = "Momentum",
             .contract = "R: one; T: one; X...: any")

}  // namespace
}  // namespace tenon::cpu
