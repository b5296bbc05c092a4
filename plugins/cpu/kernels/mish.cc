#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct MishOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    const T softplus = x > T(0) ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    return x * std::tanh(softplus);
  }
};
using Mish = UnaryKernel<MishOp>;
TENON_KERNEL(Mish, .op_type = "Mish", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
