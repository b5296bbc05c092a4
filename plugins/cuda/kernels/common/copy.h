// Strided copies, for all operators that only move whole elements.
#pragma once

#include "kernels/common/kernel.h"
#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

namespace tenon::cuda {

using ops::gather_copy;
using ops::StridedCopy;

inline constexpr Source kCopySource{"copy", R"CU(
KERNEL Strided(IN(M, x), OUT(M, y), Walk w, int x_start, int y_start) {
  EACH_Y(row, w.outer) {
    WALK2(w, row, from, to)
    EACH(i, w.inner) y[y_start + to + i * w.step[1]] = x[x_start + from + i * w.step[0]];
  }
}
)CU"};

using CopyKernels = ops::CopyKernels<Backend<kCopySource>>;

}  // namespace tenon::cuda
