// Tensors and positions of sequences.
#pragma once

#include "kernels/common/movement.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu {

/// Copies a tensor of any type to output `i`, whose shape was set AT_RUN.
inline void give_tensor(const Context& ctx, int i, TensorView from) {
  if (from.dtype() == TENON_STRING) {
    StringBuilder strings;
    for (int64_t e = 0, n = from.size(); e < n; ++e) strings.add(from.string(e));
    return ctx.set_strings(i, from.dims(), strings);
  }
  const OutputTensor out = ctx.alloc_output(i, from.dims());
  if (from.byte_size() > 0) std::memcpy(out.bytes(), from.bytes(), static_cast<size_t>(from.byte_size()));
}

inline std::vector<ValueRef> sequence_elements(const ValueRef& sequence) {
  std::vector<ValueRef> out;
  for (int64_t i = 0, n = sequence.size(); i < n; ++i) out.push_back(sequence.element(i));
  return out;
}

/// A position in a sequence: one int32 or int64, from the end when negative. With `end_allowed`, `size` is
/// valid too. Throws an Error out of range.
inline int64_t sequence_position(TensorView position, int64_t size, bool end_allowed = false) {
  const int64_t given = only_int(position, "the position"), at = given < 0 ? given + size : given;
  require(at >= 0 && at < size + (end_allowed ? 1 : 0), TENON_OUT_OF_RANGE, "position ", given,
          " in a sequence of ", size);
  return at;
}

}  // namespace tenon::cpu
