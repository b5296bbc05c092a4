#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

// Integers, which version 9 allowed, are truncated after rounding to float32, where erf(x) is 1 for x >= 4.
struct ErfOp {
  static constexpr auto kTypes = kNumericTypes;
  static constexpr auto kVector = &isa::Table::erf;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(
        std::erf(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(x)));
  }
};
using Erf = UnaryKernel<ErfOp>;
TENON_KERNEL(Erf, .op_type = "Erf", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
