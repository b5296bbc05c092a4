#include "kernels/common/variadic.h"

namespace tenon::cpu {
namespace {

struct MeanOp {
  static constexpr auto kTypes = kFloatTypes;
  static constexpr auto kVector = &isa::Table::add;
  explicit MeanOp(const NodeView& n) : count(n.input_count()) {}
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }

  template <class T>
  T finish(T sum) const {
    return sum / static_cast<T>(count);
  }

  int count;
};
using Mean = VariadicKernel<MeanOp>;
TENON_KERNEL(Mean, .op_type = "Mean", .contract = "X: ~; Y...: ~")

}  // namespace
}  // namespace tenon::cpu
