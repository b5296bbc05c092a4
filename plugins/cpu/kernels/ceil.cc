#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct CeilOp {
  static constexpr auto kTypes = kFloatTypes;
  template <class T>
  T operator()(T x) const {
    return std::ceil(x);
  }
};
using Ceil = UnaryKernel<CeilOp>;
TENON_KERNEL(Ceil, .op_type = "Ceil", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
