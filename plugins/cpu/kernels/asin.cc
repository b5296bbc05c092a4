#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct AsinOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::asin(x);
  }
};
using Asin = UnaryKernel<AsinOp>;
TENON_KERNEL(Asin, .op_type = "Asin", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
