#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct LessOrEqualOp {
  static constexpr auto kTypes = kNumericTypes + kBoolType;
  static constexpr bool kPredicate = true;
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
using LessOrEqual = BinaryKernel<LessOrEqualOp>;
TENON_KERNEL(LessOrEqual, .op_type = "LessOrEqual", .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
