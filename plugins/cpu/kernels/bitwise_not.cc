#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct BitwiseNotOp {
  static constexpr auto kTypes = kIntTypes;
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(~x);
  }
};
using BitwiseNot = UnaryKernel<BitwiseNotOp>;
TENON_KERNEL(BitwiseNot, .op_type = "BitwiseNot", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
