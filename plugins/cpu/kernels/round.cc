#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

// To the nearest integer, ties to even: the rounding mode of the process, which nobody changes.
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
