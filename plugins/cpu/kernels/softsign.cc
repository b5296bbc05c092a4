#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct SoftsignOp {
  static constexpr auto kTypes = kFloatTypes;
  template <class T>
  T operator()(T x) const {
    return x / (T(1) + std::fabs(x));
  }
};
using Softsign = UnaryKernel<SoftsignOp>;
TENON_KERNEL(Softsign, .op_type = "Softsign", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
