#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct SqrtOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr auto kVector = &isa::Table::sqrt;
  template <class T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};
using Sqrt = UnaryKernel<SqrtOp>;
TENON_KERNEL(Sqrt, .op_type = "Sqrt", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
