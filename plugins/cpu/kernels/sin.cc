#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct SinOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::sin(x);
  }
};
using Sin = UnaryKernel<SinOp>;
TENON_KERNEL(Sin, .op_type = "Sin", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
