#include "kernels/common/cumulate.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

struct RunningSum {
  template <class T>
  static T start() {
    return T(0);
  }
  template <class T>
  static T next(T total, T x) {
    return wrapping_add(total, x);
  }
};
using CumSum = Cumulate<RunningSum>;
TENON_KERNEL(CumSum, .op_type = "CumSum", .contract = "x: rank 1..; axis: one @index")

}  // namespace
}  // namespace tenon::cpu
