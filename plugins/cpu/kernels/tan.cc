#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct TanOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::tan(x);
  }
};
using Tan = UnaryKernel<TanOp>;
TENON_KERNEL(Tan, .op_type = "Tan", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
