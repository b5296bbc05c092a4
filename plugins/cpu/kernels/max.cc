#include "kernels/common/variadic.h"

namespace tenon::cpu {
namespace {

// The result is NaN if any input is NaN.
struct MaxOp {
  static constexpr auto kTypes = kNumericTypes;
  static constexpr auto kVector = &isa::Table::max;
  template <class T>
  T operator()(T a, T b) const {
    return a != a ? a : a > b ? a : b;
  }
};
using Max = VariadicKernel<MaxOp>;
TENON_KERNEL(Max, .op_type = "Max", .contract = "X: ~; Y...: ~")

}  // namespace
}  // namespace tenon::cpu
