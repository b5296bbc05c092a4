// Elements of any type as numbers and text.
#pragma once

#include <complex>
#include <cstdint>
#include <string>

#include "host/include/tenon/tenon.hpp"

namespace tenon::cli {

/// "float32", ...; "type 99" for a number that is no element type.
std::string element_name(uint32_t dtype);

/// Element `index` of a tensor (not of strings) as a complex number; exact for all types but 64-bit integers
/// beyond 2^53.
std::complex<double> element_value(const tenon_tensor& tensor, uint64_t index);
/// For a person; of integers, bools and strings every digit and character, so that equal text is an equal
/// element.
std::string element_text(const Value& value, uint64_t index);

}  // namespace tenon::cli
