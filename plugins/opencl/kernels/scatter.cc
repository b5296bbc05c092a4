// ScatterElements (and Scatter) and ScatterND. Updates of one place must be applied in order, so one
// work-item does all that can address the same place: a line along the axis, or a column of the slices.
#include "tenon/ep/device/ops/scatter.hpp"

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"scatter", R"CL(
#if MODE == 0
#define T M
#define PUT(to, v) (to) = (v)
#elif MODE == 1
#define PUT(to, v) (to) += (v)
#elif MODE == 2
#define PUT(to, v) (to) *= (v)
#elif MODE == 3
#define PUT(to, v) (to) = (v) > (to) || (v) != (v) ? (v) : (to)  // NaN is kept on either side
#else
#define PUT(to, v) (to) = (v) < (to) || (v) != (v) ? (v) : (to)
#endif
// Sets the place of `index`. Returns false and sets the flag if it is out of range.
inline bool find(long index, int size, int* at, __global int* flag) {
  const long from_front = index < 0 ? index + size : index;
  *at = (int)from_front;
  if (from_front >= 0 && from_front < size) return true;
  flag_index(flag, index, size);
  return false;
}
// The walk goes over the lines of the indices. Operand 0 is the line's place in y, operand 1 in the indices.
__kernel void Elements(IN(I, index), IN(T, updates), OUT(T, y), __global int* flag, Walk w, int count,
                       int index_stride, int size, int y_stride) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= w.inner || row >= w.outer) return;
  WALK2(w, row, to, from)
  to += i * w.step[0];
  from += i * w.step[1];
  for (int k = 0; k < count; ++k) {
    int at;
    if (!find(PTR(index)[from + k * index_stride], size, &at, flag)) continue;
    PUT(PTR(y)[to + at * y_stride], PTR(updates)[from + k * index_stride]);
  }
}
__kernel void Tuples(IN(I, index), IN(T, updates), OUT(T, y), __global int* flag, Walk w, int tuples, int width,
                     int slice) {
  const int i = get_global_id(0);  // at least one work-item, so that indices are checked even if nothing is moved
  for (int t = 0; t < tuples; ++t) {
    long to = 0;
    bool inside = true;
    for (int d = 0; d < width; ++d) {
      int at;
      inside = find(PTR(index)[t * width + d], w.size[d], &at, flag) && inside;
      to += at * (long)w.stride[0][d];
    }
    if (inside && i < slice) PUT(PTR(y)[to + i], PTR(updates)[(long)t * slice + i]);
  }
}
)CL"};

struct Kernels : Backend<kSource> {
  using Copies = CopyKernels;
};

TENON_KERNEL(ops::ScatterElements<Kernels>, .op_type = "ScatterElements", .since = 11,
             .contract = "data: rank 1..; indices: rank data @index; updates: = indices")
TENON_KERNEL(ops::ScatterElements<Kernels>, .op_type = "Scatter", .since = 9,
             .contract = "data: rank 1..; indices: rank data @index; updates: = indices")
TENON_KERNEL(ops::ScatterND<Kernels>, .op_type = "ScatterND", .since = 11,
             .contract = "data: rank 1..; indices: rank 1.. @index; updates: any")

}  // namespace
}  // namespace tenon::opencl
