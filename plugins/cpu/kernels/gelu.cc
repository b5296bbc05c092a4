#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct GeluOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr bool kCostly = true;
  explicit GeluOp(const NodeView& n) : by_tanh(n.attr_s("approximate", "none") == "tanh") {}
  auto vector() const { return by_tanh ? &isa::Table::gelu_tanh : &isa::Table::gelu; }
  template <class T>
  T operator()(T x) const {
    if (!by_tanh) return T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752)));
    const T inner = T(0.79788456080286536) * (x + T(0.044715) * x * x * x);
    return T(0.5) * x * (T(1) + std::tanh(inner));
  }

  bool by_tanh;
};
using Gelu = UnaryKernel<GeluOp>;
TENON_KERNEL(Gelu, .op_type = "Gelu", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
