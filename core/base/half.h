// float16 and bfloat16 as bit patterns.
#pragma once

#include <cstdint>

namespace tenon {

float half_to_float(uint16_t bits);
float bfloat16_to_float(uint16_t bits);

/// Rounds to nearest even, once. Rounding to float first would round twice. A number that is too large becomes
/// infinite.
uint16_t to_half(double value);
uint16_t to_bfloat16(double value);

}  // namespace tenon
