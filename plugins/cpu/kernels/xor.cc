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
TENON_KERNEL(Xor, .op_type = "Xor")

}  // namespace
}  // namespace tenon::cpu
