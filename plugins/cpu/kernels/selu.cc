#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct SeluOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  explicit SeluOp(const NodeView& n)
      : alpha(n.attr_f("alpha", n.since_version() < 6 ? 1.6732f : 1.67326319f)),
        gamma(n.attr_f("gamma", n.since_version() < 6 ? 1.0507f : 1.05070102f)) {}
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(gamma) * (x > T(0) ? x : static_cast<T>(alpha) * std::expm1(x));
  }

  float alpha, gamma;
};
using Selu = UnaryKernel<SeluOp>;
TENON_KERNEL(Selu, .op_type = "Selu", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
