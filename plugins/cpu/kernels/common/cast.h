// Cast between any two element types.
#pragma once

#include "kernels/common/shape.h"

namespace tenon::cpu {

struct CastRules {
  // Whether 2- and 4-bit integers saturate, or keep the low bits. The standard leaves out-of-range floats
  // undefined; its test cases of opset 21 to 23 saturate, later ones do not.
  bool saturate_small_ints = false;
  bool saturate = true;                              // 8-bit floats
  Float8E8M0::Round round = Float8E8M0::Round::kUp;  // float8e8m0
};

/// False for complex types.
bool can_cast(uint32_t from, uint32_t to);

/// Casts `from` to the element type of output `output`.
void cast_tensor(const Context& ctx, TensorView from, int output, const CastRules& rules);

/// The same for plain memory, without strings: elements [start, start + n).
void cast_elements(uint32_t from_dtype, const void* from, uint32_t to_dtype, void* to, int64_t start,
                   int64_t n, const CastRules& rules);

}  // namespace tenon::cpu
