// Gather, GatherElements and GatherND. Negative indices count from the end. An index out of range is an error
// in prepare() if the indices are constant, otherwise when the host waits for the work.
#include "tenon/ep/device/ops/gather.hpp"

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"gather", R"CL(
__kernel void Gather(IN(M, x), IN(I, index), OUT(M, y), __global int* flag, int outer, int size, int inner, int count) {
  const int i = get_global_id(0), k = get_global_id(1), row = get_global_id(2);
  if (k >= count) return;
  const int at = place_of(PTR(index)[k], size, flag);  // checked even if no elements are moved
  if (i >= inner || row >= outer) return;
  PTR(y)[((long)row * count + k) * inner + i] = PTR(x)[((long)row * size + at) * inner + i];
}
// The walk gives the place in x for index 0.
__kernel void GatherElements(IN(M, x), IN(I, index), OUT(M, y), __global int* flag, Walk w, int size, int stride) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= w.inner || row >= w.outer) return;
  WALK1(w, row, from)
  const int at = row * w.inner + i;
  PTR(y)[at] = PTR(x)[from + i * w.step[0] + place_of(PTR(index)[at], size, flag) * stride];
}
// The walk's rows are the dimensions of x that a tuple of indices addresses.
__kernel void GatherND(IN(M, x), IN(I, index), OUT(M, y), __global int* flag, Walk w, int tuples, int width, int slice,
                       int per_batch, int batch_stride) {
  const int i = get_global_id(0), t = get_global_id(1);
  if (t >= tuples) return;
  long from = (long)(t / per_batch) * batch_stride;
  for (int d = 0; d < width; ++d) from += place_of(PTR(index)[t * width + d], w.size[d], flag) * (long)w.stride[0][d];
  if (i >= slice) return;
  PTR(y)[(long)t * slice + i] = PTR(x)[from + i];
}
)CL"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::Gather<Kernels>, .op_type = "Gather", .since = 1,
             .contract = "data: rank 1..; indices: any @index")
TENON_KERNEL(ops::GatherElements<Kernels>, .op_type = "GatherElements", .since = 11,
             .contract = "data: rank 1..; indices: rank data @index")
TENON_KERNEL(ops::GatherND<Kernels>, .op_type = "GatherND", .since = 11,
             .contract = "data: rank 1..; indices: rank 1.. @index")

}  // namespace
}  // namespace tenon::opencl
