#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct ShrinkOp {
  static constexpr auto kTypes = kNumericTypes;
  explicit ShrinkOp(const NodeView& n) : bias(n.attr_f("bias", 0.0f)), lambd(n.attr_f("lambd", 0.5f)) {}
  template <class T>
  T operator()(T x) const {
    const auto value = static_cast<double>(x);
    if (value < -lambd) return static_cast<T>(value + bias);
    return value > lambd ? static_cast<T>(value - bias) : T(0);
  }

  float bias, lambd;
};
using Shrink = UnaryKernel<ShrinkOp>;
TENON_KERNEL(Shrink, .op_type = "Shrink", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
