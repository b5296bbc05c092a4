#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct SinhOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::sinh(x);
  }
};
using Sinh = UnaryKernel<SinhOp>;
TENON_KERNEL(Sinh, .op_type = "Sinh", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
