#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct CosOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::cos(x);
  }
};
using Cos = UnaryKernel<CosOp>;
TENON_KERNEL(Cos, .op_type = "Cos", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
