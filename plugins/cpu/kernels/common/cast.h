// Cast between any two element types.
#pragma once

#include "kernels/common/shape.h"

namespace tenon::cpu {

struct CastRules {
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
