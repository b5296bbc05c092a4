// Index tensors, int32 or int64: bounds are checked, negative indices count from the end.
#pragma once

#include "kernels/common/scratch.h"

namespace tenon::cpu {

/// The indices in [0, limit), in scratch memory. Throws an Error for an index outside [-limit, limit).
inline std::span<int64_t> checked_indices(const Context& ctx, TensorView indices, int64_t limit) {
  const DimsView given = int_list(ctx, indices);
  const std::span<int64_t> out = scratch_list<int64_t>(ctx, indices.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t index = given[i];
    require(index >= -limit && index < limit, TENON_OUT_OF_RANGE, "index ", index, " is outside [", -limit,
            ", ", limit - 1, "]");
    out[i] = index < 0 ? index + limit : index;
  }
  return out;
}

/// For each row of `indices` [..., depth]: the offset that it selects in the leading `depth` dims, in
/// elements. The other dims are the slice there. In scratch memory.
inline DimsView nd_offsets(const Context& ctx, TensorView indices, DimsView dims, DimsView strides) {
  const DimsView flat = int_list(ctx, indices);
  const auto depth = static_cast<size_t>(indices.dim(indices.rank() - 1));
  require(depth <= dims.size(), TENON_INVALID_ARGUMENT, "index rows have ", depth, " entries for rank ",
          dims.size());
  int64_t rows = 1;
  for (int i = 0; i + 1 < indices.rank(); ++i) rows *= indices.dim(i);
  const std::span<int64_t> out = scratch_list<int64_t>(ctx, rows);
  const int64_t *row = flat.data(), *limit = dims.data(), *stride = strides.data();
  for (int64_t& offset : out) {
    int64_t sum = 0;
    for (size_t d = 0; d < depth; ++d) {
      const int64_t index = row[d], n = limit[d];
      if (index < -n || index >= n) [[unlikely]]
        fail(TENON_OUT_OF_RANGE, "index ", index, " of axis ", d, " is outside [", -n, ", ", n - 1, "]");
      sum += (index < 0 ? index + n : index) * stride[d];
    }
    offset = sum;
    row += depth;
  }
  return out;
}

}  // namespace tenon::cpu
