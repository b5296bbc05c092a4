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
/// Element of a 64-bit integer tensor, exact.
int64_t element_int64(const tenon_tensor& tensor, uint64_t index);

std::string element_text(const Value& value, uint64_t index);

}  // namespace tenon::cli
