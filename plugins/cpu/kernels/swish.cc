#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct SwishOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr auto kVector = &isa::Table::silu;
  static constexpr bool kCostly = true;
  explicit SwishOp(const NodeView& n) : alpha(n.attr_f("alpha", 1.0f)) {}
  bool use_vector() const { return alpha == 1.0f; }
  template <class T>
  T operator()(T x) const {
    return x / (T(1) + std::exp(-static_cast<T>(alpha) * x));
  }

  float alpha;
};
using Swish = UnaryKernel<SwishOp>;
TENON_KERNEL(Swish, .op_type = "Swish", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
