#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct AcoshOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::acosh(x);
  }
};
using Acosh = UnaryKernel<AcoshOp>;
TENON_KERNEL(Acosh, .op_type = "Acosh", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
