#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct AcosOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::acos(x);
  }
};
using Acos = UnaryKernel<AcosOp>;
TENON_KERNEL(Acos, .op_type = "Acos", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
