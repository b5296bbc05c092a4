// Copies through strides: transposing, slicing, expanding, repeating elements of any type.
#pragma once

#include "kernels/common/movement.h"

namespace tenon::cpu {

/// Products of the dims before, at and after an axis.
struct Around {
  int64_t outer = 1, axis = 1, inner = 1;
};
Around around(DimsView dims, int64_t axis);

/// The offsets in an input of an output's elements. Merges dims that one stride covers. Made in prepare, from
/// the output's dims.
struct StridedWalk {
  StridedWalk() = default;
  StridedWalk(DimsView dims, DimsView strides, int64_t offset = 0);

  /// Offset in the input, relative to `offset`, of row `row`. A row is the last `inner` dims.
  int64_t row(int64_t row, size_t inner = 1) const {
    int64_t out = 0;
    for (size_t i = dims.size() - inner; i-- > 0; row /= dims[i]) out += row % dims[i] * strides[i];
    return out;
  }
  int64_t size() const { return empty ? 0 : element_count(dims); }

  Dims dims, strides;  // dims of the output, strides of the input; at least one
  int64_t offset = 0;  // of the first element, in the input
  bool empty = false;
};

/// output[i0, i1, ...] = input[offset + sum(i_k * strides_k)]; strides may be 0 or negative.
void copy_strided(const Context& ctx, TensorView input, int output, const StridedWalk& walk);

}  // namespace tenon::cpu
