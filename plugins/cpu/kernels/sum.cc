#include "kernels/common/variadic.h"

namespace tenon::cpu {
namespace {

struct SumOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr auto kVector = &isa::Table::add;
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
using Sum = VariadicKernel<SumOp>;
TENON_KERNEL(Sum, .op_type = "Sum", .contract = "X: ~; Y...: ~")

}  // namespace
}  // namespace tenon::cpu
