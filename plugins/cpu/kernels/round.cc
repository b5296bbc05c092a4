#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

// To the nearest integer, ties to even: relies on the default rounding mode of the process.
struct RoundOp {
  static constexpr auto kTypes = kFloatTypes;
  template <class T>
  T operator()(T x) const {
    return std::nearbyint(x);
  }
};
using Round = UnaryKernel<RoundOp>;
TENON_KERNEL(Round, .op_type = "Round", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
