#include <cmath>

#include "kernels/training/optimizer.h"

namespace tenon::cpu {
namespace {

class Adam : public Optimizer<2> {
 public:
  explicit Adam(const NodeView& n)
      : Optimizer(n),
        alpha_(static_cast<double>(n.attr_f("alpha", 0.9f))),
        beta_(static_cast<double>(n.attr_f("beta", 0.999f))),
        epsilon_(static_cast<double>(n.attr_f("epsilon", 0.0f))),
        norm_after_(static_cast<double>(n.attr_f("norm_coefficient_post", 0.0f))) {}

  void run(const Context& ctx) const {
    double r = rate(ctx);
    if (const auto t = static_cast<double>(step(ctx)); t > 0)  // corrects the averages, which begin at zero
      r *= std::sqrt(1 - std::pow(beta_, t)) / (1 - std::pow(alpha_, t));
    each_element(ctx, [&](double x, double g, std::array<double, 2>& states) {
      states[0] = alpha_ * states[0] + (1 - alpha_) * g;
      states[1] = beta_ * states[1] + (1 - beta_) * g * g;
      return (1 - norm_after_) * (x - r * states[0] / (std::sqrt(states[1]) + epsilon_));
    });
  }

 private:
  double alpha_, beta_, epsilon_, norm_after_;
};
TENON_KERNEL(Adam, .domain = "ai.onnx.preview.training", .op_type = "Adam",
             .contract = "R: one; T: one; X...: any")

}  // namespace
}  // namespace tenon::cpu
