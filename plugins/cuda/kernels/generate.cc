// Operators that make a tensor from a few numbers: ConstantOfShape, EyeLike and OneHot; and Trilu, which keeps a part of its
// input.
#include "tenon/ep/device/ops/generate.hpp"

#include "kernels/common/kernel.h"

namespace tenon::cuda {
namespace {

constexpr Source kSource{"generate", R"CU(
#define BITS ((uint64)high << 32 | low)
KERNEL Fill(OUT(M, y), int n, uint32 low, uint32 high) {
  EACH(i, n) y[i] = (M)BITS;
}
KERNEL Eye(OUT(M, y), int rows, int columns, int shift, uint32 low, uint32 high) {
  EACH_Y(row, rows) EACH(i, columns) y[row * columns + i] = i - row == shift ? (M)BITS : (M)0;
}
KERNEL Trilu(IN(M, x), OUT(M, y), int rows, int columns, int batches, int shift, int upper) {
  EACH_Y(row, (int64)rows * batches) EACH(i, columns) {
    const int64 diagonal = i - row % rows;
    const bool keeps = upper ? diagonal >= shift : diagonal <= shift;
    y[row * columns + i] = keeps ? x[row * columns + i] : (M)0;
  }
}
#ifdef I
KERNEL OneHot(IN(I, index), IN(M, values), OUT(M, y), int outer, int depth, int inner) {
  EACH_Z(row, outer) EACH_Y(k, depth) EACH(i, inner) {
    const int64 at = (int64)(C_I)index[row * inner + i];
    y[(row * depth + k) * inner + i] = values[k == (at < 0 ? at + depth : at)];
  }
}
#endif
)CU"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::ConstantOfShape<Kernels>, .op_type = "ConstantOfShape", .since = 9,
             .contract = "input: [?] @size")
TENON_KERNEL(ops::EyeLike<Kernels>, .op_type = "EyeLike", .since = 9, .contract = "input: rank 2")
TENON_KERNEL(ops::Trilu<Kernels>, .op_type = "Trilu", .since = 14, .contract = "input: rank 2..; k?: one")
TENON_KERNEL(ops::OneHot<Kernels>, .op_type = "OneHot", .since = 9,
             .contract = "indices: any; depth: one @size; values: [2]")

}  // namespace
}  // namespace tenon::cuda
