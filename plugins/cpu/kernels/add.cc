#include "kernels/common/elementwise.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

struct AddOp {
  static constexpr auto kTypes = kNumericTypes;
  static constexpr auto kVector = &isa::Table::add;
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_add(a, b);
  }
};
using Add = BinaryKernel<AddOp>;
TENON_BINARY_KERNELS(Add, "Add")

}  // namespace
}  // namespace tenon::cpu
