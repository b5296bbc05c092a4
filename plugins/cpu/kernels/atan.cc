#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct AtanOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::atan(x);
  }
};
using Atan = UnaryKernel<AtanOp>;
TENON_KERNEL(Atan, .op_type = "Atan", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
