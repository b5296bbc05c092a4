#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct SigmoidOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr auto kVector = &isa::Table::sigmoid;
  static constexpr bool kCostly = true;
  template <class T>
  T operator()(T x) const {
    return T(1) / (T(1) + std::exp(-x));
  }
};
using Sigmoid = UnaryKernel<SigmoidOp>;
TENON_KERNEL(Sigmoid, .op_type = "Sigmoid", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
