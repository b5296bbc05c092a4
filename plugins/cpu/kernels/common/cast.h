// Cast between any two element types.
#pragma once

#include "kernels/common/shape.h"

namespace tenon::cpu {

struct CastRules {
  // Floats that 2- and 4-bit integers cannot hold: undefined by the standard. Its cases of opset 21 to 23
  // saturate, those of later ones keep the low bits.
  bool saturate_small_ints = false;
  bool saturate = true;                              // to 8-bit floats
  Float8E8M0::Round round = Float8E8M0::Round::kUp;  // to float8e8m0
};

/// Complex types are not cast.
bool can_cast(uint32_t from, uint32_t to);

/// Casts `from` to output `output`, whose element type is the target.
void cast_tensor(const Context& ctx, TensorView from, int output, const CastRules& rules);

/// The same for plain memory, strings excluded: `n` elements from element `start` on.
void cast_elements(uint32_t from_dtype, const void* from, uint32_t to_dtype, void* to, int64_t start,
                   int64_t n, const CastRules& rules);

}  // namespace tenon::cpu
