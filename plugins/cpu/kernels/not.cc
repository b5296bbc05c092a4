#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct NotOp {
  static constexpr auto kTypes = kBoolType;
  template <class T>
  T operator()(T x) const {
    return !x;
  }
};
using Not = UnaryKernel<NotOp>;
TENON_KERNEL(Not, .op_type = "Not", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
