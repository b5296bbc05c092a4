#include "kernels/common/elementwise.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

// Integers are divided towards zero. Where C++ leaves the quotient undefined, a zero divisor gives 0 and the
// lowest number divided by -1 gives itself.
struct DivOp {
  static constexpr auto kTypes = kNumericTypes;
  static constexpr auto kVector = &isa::Table::div;
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == T(-1)) return wrapping_sub(T{0}, a);
    }
    return static_cast<T>(a / b);
  }
};
using Div = BinaryKernel<DivOp>;
TENON_BINARY_KERNELS(Div, "Div")

}  // namespace
}  // namespace tenon::cpu
