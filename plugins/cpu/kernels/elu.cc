#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct EluOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  explicit EluOp(const NodeView& n) : alpha(n.attr_f("alpha", 1.0f)) {}
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? static_cast<T>(alpha) * std::expm1(x) : x;
  }

  float alpha;
};
using Elu = UnaryKernel<EluOp>;
TENON_KERNEL(Elu, .op_type = "Elu", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
