// Range.
#include "tenon/ep/device/ops/range.hpp"

#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"range", R"CL(
#if IS_REAL
__kernel void Range(OUT(T, y), int n, float start, float step) {
  const int i = get_global_id(0);
  if (i < n) PTR(y)[i] = start + (float)i * step;
}
#else
__kernel void RangeOfInts(OUT(T, y), int n, uint start_low, uint start_high, uint step_low, uint step_high) {
  const int i = get_global_id(0);
  const ulong start = (ulong)start_high << 32 | start_low, step = (ulong)step_high << 32 | step_low;
  if (i < n) PTR(y)[i] = (T)(long)(start + (ulong)i * step);
}
#endif
)CL"};
using Kernels = Backend<kSource>;

TENON_KERNEL(ops::Range<Kernels>, .op_type = "Range", .since = 11,
             .contract = "start: one @size; limit: one @size; delta: one @size")

}  // namespace
}  // namespace tenon::opencl
