#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct ReluOp {
  static constexpr auto kTypes = kFloatTypes + kSignedIntTypes;
  static constexpr auto kVector = &isa::Table::relu;
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};
using Relu = UnaryKernel<ReluOp>;
TENON_KERNEL(Relu, .op_type = "Relu", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
