#include "kernels/common/elementwise.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

struct SubOp {
  static constexpr auto kTypes = kNumericTypes;
  static constexpr auto kVector = &isa::Table::sub;
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_sub(a, b);
  }
};
using Sub = BinaryKernel<SubOp>;
TENON_KERNEL(Sub, .op_type = "Sub", .until = 6, .contract = "A: any; B: any")
TENON_KERNEL(Sub, .op_type = "Sub", .since = 7, .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
