#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct OrOp {
  static constexpr auto kTypes = kBoolType;
  template <class T>
  T operator()(T a, T b) const {
    return a || b;
  }
};
using Or = BinaryKernel<OrOp>;
TENON_KERNEL(Or, .op_type = "Or", .until = 6, .contract = "A: any; B: any")
TENON_KERNEL(Or, .op_type = "Or", .since = 7, .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
