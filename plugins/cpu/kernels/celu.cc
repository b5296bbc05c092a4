#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct CeluOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  explicit CeluOp(const NodeView& n) : alpha(n.attr_f("alpha", 1.0f)) {}
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? static_cast<T>(alpha) * std::expm1(x / static_cast<T>(alpha)) : x;
  }

  float alpha;
};
using Celu = UnaryKernel<CeluOp>;
TENON_KERNEL(Celu, .op_type = "Celu", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
