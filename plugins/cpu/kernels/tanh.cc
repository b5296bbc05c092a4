#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct TanhOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr auto kVector = &isa::Table::tanh;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::tanh(x);
  }
};
using Tanh = UnaryKernel<TanhOp>;
TENON_KERNEL(Tanh, .op_type = "Tanh", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
