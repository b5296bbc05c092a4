#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct GreaterOrEqualOp {
  static constexpr auto kTypes = kNumericTypes + kBoolType;
  static constexpr bool kPredicate = true;
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
using GreaterOrEqual = BinaryKernel<GreaterOrEqualOp>;
TENON_KERNEL(GreaterOrEqual, .op_type = "GreaterOrEqual", .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
