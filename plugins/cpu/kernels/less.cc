#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct LessOp {
  static constexpr auto kTypes = kNumericTypes + kBoolType;
  static constexpr bool kPredicate = true;
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
using Less = BinaryKernel<LessOp>;
TENON_BINARY_KERNELS(Less, "Less")

}  // namespace
}  // namespace tenon::cpu
