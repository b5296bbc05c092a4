#include "kernels/common/cumulate.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

struct RunningProduct {
  template <class T>
  static T start() {
    return T(1);
  }
  template <class T>
  static T next(T total, T x) {
    return wrapping_mul(total, x);
  }
};
using CumProd = Cumulate<RunningProduct>;
TENON_KERNEL(CumProd, .op_type = "CumProd", .contract = "x: rank 1..; axis: one @index")

}  // namespace
}  // namespace tenon::cpu
