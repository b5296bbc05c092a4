#include <algorithm>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct HardSigmoidOp {
  static constexpr auto kTypes = kFloatTypes;
  explicit HardSigmoidOp(const NodeView& n) : alpha(n.attr_f("alpha", 0.2f)), beta(n.attr_f("beta", 0.5f)) {}
  template <class T>
  T operator()(T x) const {
    return std::clamp(static_cast<T>(alpha) * x + static_cast<T>(beta), T(0), T(1));
  }

  float alpha, beta;
};
using HardSigmoid = UnaryKernel<HardSigmoidOp>;
TENON_KERNEL(HardSigmoid, .op_type = "HardSigmoid", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
