#include "kernels/common/cumulate.h"

namespace tenon::cpu {
namespace {

struct RunningProduct {
  template <class T>
  static T start() {
    return T(1);
  }
  template <class T>
  static T next(T total, T x) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(total) * static_cast<uint64_t>(x));
    return total * x;
  }
};
using CumProd = Cumulate<RunningProduct>;
TENON_KERNEL(CumProd, .op_type = "CumProd", .contract = "x: rank 1..; axis: one @index")

}  // namespace
}  // namespace tenon::cpu
