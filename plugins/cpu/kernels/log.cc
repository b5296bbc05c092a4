#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct LogOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return std::log(x);
  }
};
using Log = UnaryKernel<LogOp>;
TENON_KERNEL(Log, .op_type = "Log", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
