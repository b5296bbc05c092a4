// Operators that make a tensor from a few numbers: ConstantOfShape, EyeLike and OneHot; and Trilu,
// which keeps a part of its input.
#include "tenon/ep/device/ops/generate.hpp"

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"generate", R"CL(
#define BITS ((ulong)high << 32 | low)
__kernel void Fill(OUT(M, y), int n, uint low, uint high) {
  const int i = get_global_id(0);
  if (i < n) PTR(y)[i] = (M)BITS;
}
__kernel void Eye(OUT(M, y), int rows, int columns, int shift, uint low, uint high) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= columns || row >= rows) return;
  PTR(y)[row * columns + i] = i - row == shift ? (M)BITS : (M)0;
}
__kernel void Trilu(IN(M, x), OUT(M, y), int rows, int columns, int batches, int shift, int upper) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= columns || row >= rows * batches) return;
  const bool keeps = upper ? i - row % rows >= shift : i - row % rows <= shift;
  PTR(y)[row * columns + i] = keeps ? PTR(x)[row * columns + i] : (M)0;
}
#ifdef LOAD_I
__kernel void OneHot(IN(I, index), IN(M, values), OUT(M, y), int outer, int depth, int inner) {
  const int i = get_global_id(0), k = get_global_id(1), row = get_global_id(2);
  if (i >= inner || k >= depth || row >= outer) return;
  const long at = (long)LOAD_I(PTR(index), row * inner + i);
  PTR(y)[((long)row * depth + k) * inner + i] = PTR(values)[k == (at < 0 ? at + depth : at)];
}
#endif
)CL"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::ConstantOfShape<Kernels>, .op_type = "ConstantOfShape", .since = 9,
             .contract = "input: [?] @size")
TENON_KERNEL(ops::EyeLike<Kernels>, .op_type = "EyeLike", .since = 9, .contract = "input: rank 2")
TENON_KERNEL(ops::Trilu<Kernels>, .op_type = "Trilu", .since = 14, .contract = "input: rank 2..; k?: one")
TENON_KERNEL(ops::OneHot<Kernels>, .op_type = "OneHot", .since = 9,
             .contract = "indices: any; depth: one @size; values: [2]")

}  // namespace
}  // namespace tenon::opencl
