#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct IsInfOp {
  static constexpr auto kTypes = kFloatTypes + kFloat8Types;
  static constexpr bool kPredicate = true;
  explicit IsInfOp(const NodeView& n)
      : negative(n.attr_i("detect_negative", 1) != 0), positive(n.attr_i("detect_positive", 1) != 0) {}
  template <class T>
  bool operator()(T x) const {
    return std::isinf(x) && (x > T(0) ? positive : negative);
  }

  bool negative, positive;
};
using IsInf = UnaryKernel<IsInfOp>;
TENON_KERNEL(IsInf, .op_type = "IsInf", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
