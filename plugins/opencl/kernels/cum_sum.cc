#include "tenon/ep/device/ops/cum_sum.hpp"

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// One work-item per line.
constexpr Source kSource{"cum_sum", R"CL(
__kernel void CumSum(IN(T, x), OUT(T, y), int outer, int count, int inner, int exclusive, int reverse) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= inner || row >= outer) return;
  C sum = 0;
  for (int k = 0; k < count; ++k) {
    const int at = (row * count + (reverse ? count - 1 - k : k)) * inner + i;
    const C v = LOAD(PTR(x), at);
    STORE(PTR(y), at, exclusive ? sum : (C)(sum + v));
    sum += v;
  }
}
)CL"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::CumSum<Kernels>, .op_type = "CumSum", .since = 11, .contract = "x: rank 1..; axis: one")

}  // namespace
}  // namespace tenon::opencl
