#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct ExpOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr auto kVector = &isa::Table::exp;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::exp(x);
  }
};
using Exp = UnaryKernel<ExpOp>;
TENON_KERNEL(Exp, .op_type = "Exp", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
