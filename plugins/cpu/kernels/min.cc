#include "kernels/common/variadic.h"

namespace tenon::cpu {
namespace {

// The result is NaN if any input is NaN.
struct MinOp {
  static constexpr auto kTypes = kNumericTypes;
  static constexpr auto kVector = &isa::Table::min;
  template <class T>
  T operator()(T a, T b) const {
    return a != a ? a : a < b ? a : b;
  }
};
using Min = VariadicKernel<MinOp>;
TENON_KERNEL(Min, .op_type = "Min", .contract = "X: ~; Y...: ~")

}  // namespace
}  // namespace tenon::cpu
