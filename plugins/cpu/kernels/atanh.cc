#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct AtanhOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::atanh(x);
  }
};
using Atanh = UnaryKernel<AtanhOp>;
TENON_KERNEL(Atanh, .op_type = "Atanh", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
