#include "tenon/ep/device/ops/pad.hpp"

#include "kernels/common/kernel.h"

namespace tenon::cuda {
namespace {

// Each output element computes its source, axis by axis. Operand 0 of the walk is x. Per axis, size is the
// output's size, stride[1] the padding before and stride[2] the size of x.
constexpr Source kSource{"pad", R"CU(
KERNEL Pad(IN(M, x), IN(M, value), OUT(M, y), Walk w, int n, int mode, int has_value) {
  const M filler = has_value ? value[0] : (M)0;
  EACH(i, n) {
    int64 from = 0;
    bool inside = true;
    for (int d = w.rank - 1, r = (int)i; d >= 0; --d) {
      const int q = r / w.size[d], size = w.stride[2][d];
      int at = r - q * w.size[d] - w.stride[1][d];
      r = q;
      if (at < 0 || at >= size) {
        if (mode == 0) inside = false;
        if (mode == 1) at = at < 0 ? 0 : size - 1;
        if (mode == 2) {
          const int period = size > 1 ? 2 * size - 2 : 1;
          at = (at % period + period) % period;
          at = at < size ? at : period - at;
        }
        if (mode == 3) at = (at % size + size) % size;
      }
      from += (int64)at * w.stride[0][d];
    }
    y[i] = inside ? x[from] : filler;
  }
}
)CU"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::Pad<Kernels>, .op_type = "Pad", .since = 11,
             .contract = "data: rank 0..8; pads: [?] @size; constant_value?: one; axes?: rank 0..1")

}  // namespace
}  // namespace tenon::cuda
