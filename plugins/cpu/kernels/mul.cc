#include "kernels/common/elementwise.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

struct MulOp {
  static constexpr auto kTypes = kNumericTypes;
  static constexpr auto kVector = &isa::Table::mul;
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_mul(a, b);
  }
};
using Mul = BinaryKernel<MulOp>;
TENON_KERNEL(Mul, .op_type = "Mul", .until = 6, .contract = "A: any; B: any")
TENON_KERNEL(Mul, .op_type = "Mul", .since = 7, .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
