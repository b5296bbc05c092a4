#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct IsNaNOp {
  static constexpr auto kTypes = kFloatTypes + kFloat8Types;
  static constexpr bool kPredicate = true;
  template <class T>
  bool operator()(T x) const {
    return std::isnan(x);
  }
};
using IsNaN = UnaryKernel<IsNaNOp>;
TENON_KERNEL(IsNaN, .op_type = "IsNaN", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
