#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct CoshOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::cosh(x);
  }
};
using Cosh = UnaryKernel<CoshOp>;
TENON_KERNEL(Cosh, .op_type = "Cosh", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
