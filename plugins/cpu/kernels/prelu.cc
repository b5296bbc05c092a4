#include "kernels/common/elementwise.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

struct PReluOp {
  static constexpr auto kTypes = kNumericTypes;
  template <class T>
  T operator()(T x, T slope) const {
    return x < T(0) ? wrapping_mul(x, slope) : x;
  }
};

// Before opset 7 a slope with more than one element belonged to the channels (dim 1).
struct PRelu : BinaryKernel<PReluOp> {
  explicit PRelu(const NodeView& n) : BinaryKernel(n) {
    if (n.since_version() < 7) align_second(1);
  }
};
TENON_KERNEL(PRelu, .op_type = "PRelu", .until = 6, .contract = "X: any; slope: any")
TENON_KERNEL(PRelu, .op_type = "PRelu", .since = 7, .contract = "X: any; slope: ~ X")

}  // namespace
}  // namespace tenon::cpu
