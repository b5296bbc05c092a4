// Elements of any type as numbers and text.
#pragma once

#include <complex>
#include <cstdint>
#include <string>

#include "host/include/tenon/tenon.hpp"

namespace tenon::cli {

/// "float32", ...; "type 99" for an unknown number.
std::string element_name(uint32_t dtype);

/// Element `index` of a tensor as a complex number; not for strings. Exact, except for 64-bit integers beyond 2^53.
std::complex<double> element_value(const tenon_tensor& tensor, uint64_t index);
/// Element `index` as text for people. Integers, bools and strings are written in full, so equal text means equal
/// elements; floats are rounded.
std::string element_text(const Value& value, uint64_t index);

}  // namespace tenon::cli
