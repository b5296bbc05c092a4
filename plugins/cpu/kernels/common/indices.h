// Index tensors: int32 or int64, negative ones counted from the end, checked.
#pragma once

#include "kernels/common/shape.h"

namespace tenon::cpu {

/// Indices in [0, limit); an Error naming the first that is outside [-limit, limit).
inline Dims checked_indices(TensorView indices, int64_t limit) {
  Dims out = indices.to_dims();
  for (int64_t& index : out) {
    require(index >= -limit && index < limit, TENON_OUT_OF_RANGE, "index ", index, " is outside [", -limit,
            ", ", limit - 1, "]");
    if (index < 0) index += limit;
  }
  return out;
}

/// Element offsets that rows of an index tensor (`indices` [..., depth]) give into the leading `depth` dims,
/// in units of one element; the rest of the dims is the slice behind each.
inline Dims nd_offsets(TensorView indices, DimsView dims, DimsView strides) {
  const Dims flat = indices.to_dims();
  const auto depth = static_cast<size_t>(indices.dim(indices.rank() - 1));
  require(depth <= dims.size(), TENON_INVALID_ARGUMENT, "index rows have ", depth, " entries for rank ",
          dims.size());
  int64_t rows = 1;
  for (int i = 0; i + 1 < indices.rank(); ++i) rows *= indices.dim(i);
  Dims out(static_cast<size_t>(rows), 0);
  for (size_t r = 0; r < out.size(); ++r) {
    for (size_t d = 0; d < depth; ++d) {
      int64_t index = flat[r * depth + d];
      require(index >= -dims[d] && index < dims[d], TENON_OUT_OF_RANGE, "index ", index, " of axis ", d,
              " is outside [", -dims[d], ", ", dims[d] - 1, "]");
      out[r] += (index < 0 ? index + dims[d] : index) * strides[d];
    }
  }
  return out;
}

}  // namespace tenon::cpu
