#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct FloorOp {
  static constexpr auto kTypes = kFloatTypes;
  template <class T>
  T operator()(T x) const {
    return std::floor(x);
  }
};
using Floor = UnaryKernel<FloorOp>;
TENON_KERNEL(Floor, .op_type = "Floor", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
