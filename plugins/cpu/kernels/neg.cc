#include "kernels/common/elementwise.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

struct NegOp {
  static constexpr auto kTypes = kFloatTypes + kSignedIntTypes;
  static constexpr auto kVector = &isa::Table::neg;
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return wrapping_sub(T{0}, x);
    else
      return -x;
  }
};
using Neg = UnaryKernel<NegOp>;
TENON_KERNEL(Neg, .op_type = "Neg", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
