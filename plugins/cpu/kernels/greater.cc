#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct GreaterOp {
  static constexpr auto kTypes = kNumericTypes + kBoolType;
  static constexpr bool kPredicate = true;
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
using Greater = BinaryKernel<GreaterOp>;
TENON_BINARY_KERNELS(Greater, "Greater")

}  // namespace
}  // namespace tenon::cpu
