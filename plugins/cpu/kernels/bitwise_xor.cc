#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct BitwiseXorOp {
  static constexpr auto kTypes = kIntTypes;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
using BitwiseXor = BinaryKernel<BitwiseXorOp>;
TENON_KERNEL(BitwiseXor, .op_type = "BitwiseXor", .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
