// Gather, GatherElements and GatherND. Negative indices count from the end. An index out of range is an error
// in prepare() if the indices are constant, otherwise when the host waits for the work.
#include "tenon/ep/device/ops/gather.hpp"

#include "kernels/common/kernel.h"

namespace tenon::cuda {
namespace {

constexpr Source kSource{"gather", R"CU(
// Indices are checked even if no elements are moved.
KERNEL Gather(IN(M, x), IN(I, index), OUT(M, y), int* flag, int outer, int size, int inner, int count) {
  EACH_Z(row, max(outer, 1)) EACH_Y(k, count) {
    const int at = place_of(index[k], size, flag);
    if (row >= outer) continue;
    const M* from = x + (row * size + at) * inner;
    M* to = y + (row * count + k) * inner;
    EACH(i, inner) to[i] = from[i];
  }
}
// The walk gives the place in x for index 0.
KERNEL GatherElements(IN(M, x), IN(I, index), OUT(M, y), int* flag, Walk w, int size, int stride) {
  EACH_Y(row, w.outer) {
    WALK1(w, row, from)
    EACH(i, w.inner) {
      const int64 at = row * w.inner + i;
      y[at] = x[from + i * w.step[0] + (int64)place_of(index[at], size, flag) * stride];
    }
  }
}
// The walk's rows are the dimensions of x that a tuple of indices addresses.
KERNEL GatherND(IN(M, x), IN(I, index), OUT(M, y), int* flag, Walk w, int tuples, int width, int slice,
                int per_batch, int batch_stride) {
  EACH_Y(t, tuples) {
    int64 from = t / per_batch * batch_stride;
    for (int d = 0; d < width; ++d)
      from += (int64)place_of(index[t * width + d], w.size[d], flag) * w.stride[0][d];
    EACH(i, slice) y[t * slice + i] = x[from + i];
  }
}
)CU"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::Gather<Kernels>, .op_type = "Gather", .since = 1,
             .contract = "data: rank 1..; indices: any @index")
TENON_KERNEL(ops::GatherElements<Kernels>, .op_type = "GatherElements", .since = 11,
             .contract = "data: rank 1..; indices: rank data @index")
TENON_KERNEL(ops::GatherND<Kernels>, .op_type = "GatherND", .since = 11,
             .contract = "data: rank 1..; indices: rank 1.. @index")

}  // namespace
}  // namespace tenon::cuda
