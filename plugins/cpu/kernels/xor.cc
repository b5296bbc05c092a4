#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct XorOp {
  static constexpr auto kTypes = kBoolType;
  template <class T>
  T operator()(T a, T b) const {
    return a != b;
  }
};
using Xor = BinaryKernel<XorOp>;
TENON_KERNEL(Xor, .op_type = "Xor", .until = 6, .contract = "A: any; B: any")
TENON_KERNEL(Xor, .op_type = "Xor", .since = 7, .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
