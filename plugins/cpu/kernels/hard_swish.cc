#include <algorithm>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct HardSwishOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr auto kVector = &isa::Table::hard_swish;
  template <class T>
  T operator()(T x) const {
    return x * std::clamp(x / T(6) + T(0.5), T(0), T(1));
  }
};
using HardSwish = UnaryKernel<HardSwishOp>;
TENON_KERNEL(HardSwish, .op_type = "HardSwish", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
