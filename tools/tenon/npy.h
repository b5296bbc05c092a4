// NumPy's .npy files (format 1.0 to 3.0) as tensors and back.
#pragma once

#include <string>

#include "host/include/tenon/tenon.hpp"

namespace tenon::cli {

/// C order, little endian, bool, integer, float and complex types. Throws tenon::Error naming the file and
/// the cure.
Value read_npy(const std::string& path);

/// Types without a NumPy name (bfloat16, float8, int4, ...) are written as their raw bytes, uint8 or uint16.
void write_npy(const std::string& path, const Value& value);

}  // namespace tenon::cli
