#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct ReciprocalOp {
  static constexpr auto kTypes = kFloatTypes;
  template <class T>
  T operator()(T x) const {
    return T(1) / x;
  }
};
using Reciprocal = UnaryKernel<ReciprocalOp>;
TENON_KERNEL(Reciprocal, .op_type = "Reciprocal", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
