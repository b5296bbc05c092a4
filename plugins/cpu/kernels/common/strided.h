// Copies through strides: transposing, slicing, expanding, repeating elements of any type.
#pragma once

#include "kernels/common/movement.h"

namespace tenon::cpu {

/// Dims before, at and after an axis, as three numbers.
struct Around {
  int64_t outer = 1, axis = 1, inner = 1;
};
Around around(DimsView dims, int64_t axis);

/// output[i0, i1, ...] = input[offset + sum(i_k * strides_k)]; strides may be 0 or negative. `dims` are the
/// output's.
void copy_strided(const Context& ctx, TensorView input, int output, DimsView dims, DimsView strides,
                  int64_t offset);

}  // namespace tenon::cpu
