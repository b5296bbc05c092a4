// Reads a text file.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace tenon {

/// The bytes of a regular file. Errors name the file: kInvalidInput when it cannot be read or has more than
/// `limit` bytes.
Result<std::string> read_text_file(const std::string& path, uint64_t limit);

}  // namespace tenon
