#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct BitwiseOrOp {
  static constexpr auto kTypes = kIntTypes;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
using BitwiseOr = BinaryKernel<BitwiseOrOp>;
TENON_KERNEL(BitwiseOr, .op_type = "BitwiseOr", .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
