// float16 and bfloat16, by their bits.
#pragma once

#include <cstdint>

namespace tenon {

float half_to_float(uint16_t bits);
float bfloat16_to_float(uint16_t bits);

/// Rounded to nearest even, once: a detour over float would round twice. Too large a number becomes infinite.
uint16_t to_half(double value);
uint16_t to_bfloat16(double value);

}  // namespace tenon
