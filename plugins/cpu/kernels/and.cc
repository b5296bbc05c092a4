#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct AndOp {
  static constexpr auto kTypes = kBoolType;
  template <class T>
  T operator()(T a, T b) const {
    return a && b;
  }
};
using And = BinaryKernel<AndOp>;
TENON_KERNEL(And, .op_type = "And")

}  // namespace
}  // namespace tenon::cpu
