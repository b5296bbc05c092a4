#include <cmath>

#include "kernels/training/optimizer.h"

namespace tenon::cpu {
namespace {

class Adagrad : public Optimizer<1> {
 public:
  explicit Adagrad(const NodeView& n)
      : Optimizer(n),
        epsilon_(static_cast<double>(n.attr_f("epsilon", 0.0f))),
        decay_(static_cast<double>(n.attr_f("decay_factor", 0.0f))) {}

  void run(const Context& ctx) const {
    const double r = rate(ctx) / (1 + static_cast<double>(step(ctx)) * decay_);
    each_element(ctx, [&](double x, double g, std::array<double, 1>& states) {
      states[0] += g * g;
      return x - r * g / (std::sqrt(states[0]) + epsilon_);
    });
  }

 private:
  double epsilon_, decay_;
};
TENON_KERNEL(Adagrad, .domain = "ai.onnx.preview.training", .op_type = "Adagrad",
             .contract = "R: one; T: one; X...: any")

}  // namespace
}  // namespace tenon::cpu
