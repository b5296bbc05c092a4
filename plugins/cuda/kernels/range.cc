#include "tenon/ep/device/ops/range.hpp"

#include "kernels/common/kernel.h"

namespace tenon::cuda {
namespace {

constexpr Source kSource{"range", R"CU(
#if IS_REAL
// Rounded after the product, as on processors, so that elements are equal everywhere.
KERNEL Range(OUT(T, y), int n, float start, float step) {
  EACH(i, n) y[i] = __fadd_rn(start, __fmul_rn((float)i, step));
}
#else
KERNEL RangeOfInts(OUT(T, y), int n, uint32 start_low, uint32 start_high, uint32 step_low, uint32 step_high) {
  const uint64 start = (uint64)start_high << 32 | start_low, step = (uint64)step_high << 32 | step_low;
  EACH(i, n) y[i] = (T)(int64)(start + (uint64)i * step);
}
#endif
)CU"};
using Kernels = Backend<kSource>;

TENON_KERNEL(ops::Range<Kernels>, .op_type = "Range", .since = 11,
             .contract = "start: one @size; limit: one @size; delta: one @size")

}  // namespace
}  // namespace tenon::cuda
