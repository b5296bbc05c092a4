#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct BitwiseAndOp {
  static constexpr auto kTypes = kIntTypes;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
using BitwiseAnd = BinaryKernel<BitwiseAndOp>;
TENON_KERNEL(BitwiseAnd, .op_type = "BitwiseAnd", .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
