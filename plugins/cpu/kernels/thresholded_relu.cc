#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct ThresholdedReluOp {
  static constexpr auto kTypes = kFloatTypes;
  explicit ThresholdedReluOp(const NodeView& n) : alpha(n.attr_f("alpha", 1.0f)) {}
  template <class T>
  T operator()(T x) const {
    return x > static_cast<T>(alpha) ? x : T(0);  // NaN gives 0
  }

  float alpha;
};
using ThresholdedRelu = UnaryKernel<ThresholdedReluOp>;
TENON_KERNEL(ThresholdedRelu, .op_type = "ThresholdedRelu", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
