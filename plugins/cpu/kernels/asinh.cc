#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct AsinhOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::asinh(x);
  }
};
using Asinh = UnaryKernel<AsinhOp>;
TENON_KERNEL(Asinh, .op_type = "Asinh", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
