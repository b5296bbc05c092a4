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
TENON_BINARY_KERNELS(And, "And")

}  // namespace
}  // namespace tenon::cpu
