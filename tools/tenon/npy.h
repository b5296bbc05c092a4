// Reads and writes NumPy's .npy files (reads format 1.0 to 3.0).
#pragma once

#include <string>

#include "host/include/tenon/tenon.hpp"

namespace tenon::cli {

/// Reads bool, integer, float and complex types, little endian and in C order. Throws a tenon::Error that names the
/// file and the cure.
Value read_npy(const std::string& path);

/// bfloat16 is written as uint16, and other types without a NumPy name (float8, int4, ...) as a flat array of raw
/// bytes. Throws a tenon::Error for strings.
void write_npy(const std::string& path, const Value& value);

}  // namespace tenon::cli
