#include <cmath>

#include "kernels/common/elementwise.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

struct AbsOp {
  static constexpr auto kTypes = kNumericTypes;
  static constexpr auto kVector = &isa::Table::abs;
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else if constexpr (std::is_integral_v<T>) {
      return x < 0 ? wrapping_sub(T{0}, x) : x;
    } else {
      return std::fabs(x);
    }
  }
};
using Abs = UnaryKernel<AbsOp>;
TENON_KERNEL(Abs, .op_type = "Abs", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
