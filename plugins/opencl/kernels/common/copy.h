// Strided copies, for all operators that only move whole elements.
#pragma once

#include "kernels/common/kernel.h"
#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

namespace tenon::opencl {

using ops::gather_copy;
using ops::StridedCopy;

inline constexpr Source kCopySource{"copy", R"CL(
__kernel void Strided(IN(M, x), OUT(M, y), Walk w, int x_start, int y_start) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= w.inner || row >= w.outer) return;
  WALK2(w, row, from, to)
  PTR(y)[y_start + to + i * w.step[1]] = PTR(x)[x_start + from + i * w.step[0]];
}
)CL"};

using CopyKernels = ops::CopyKernels<Backend<kCopySource>>;

}  // namespace tenon::opencl
