#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct LeakyReluOp {
  static constexpr auto kTypes = kFloatTypes;
  explicit LeakyReluOp(const NodeView& n) : alpha(n.attr_f("alpha", 0.01f)) {}
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? static_cast<T>(alpha) * x : x;
  }

  float alpha;
};
using LeakyRelu = UnaryKernel<LeakyReluOp>;
TENON_KERNEL(LeakyRelu, .op_type = "LeakyRelu", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
