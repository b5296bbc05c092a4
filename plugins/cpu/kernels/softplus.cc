#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

// log(1 + e^x), without overflow.
struct SoftplusOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return x > T(0) ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
};
using Softplus = UnaryKernel<SoftplusOp>;
TENON_KERNEL(Softplus, .op_type = "Softplus", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
