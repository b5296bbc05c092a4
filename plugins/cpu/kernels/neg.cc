#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct NegOp {
  static constexpr auto kTypes = kFloatTypes + kSignedIntTypes;
  static constexpr auto kVector = &isa::Table::neg;
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
    } else {
      return -x;
    }
  }
};
using Neg = UnaryKernel<NegOp>;
TENON_KERNEL(Neg, .op_type = "Neg", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
