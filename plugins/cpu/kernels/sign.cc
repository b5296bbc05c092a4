#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

// Zero and NaN stay as they are.
struct SignOp {
  static constexpr auto kTypes = kNumericTypes;
  template <class T>
  T operator()(T x) const {
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
  }
};
using Sign = UnaryKernel<SignOp>;
TENON_KERNEL(Sign, .op_type = "Sign", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
