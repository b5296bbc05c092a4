// Reading a text file.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace tenon {

/// The bytes of a regular file, at most `limit`. Errors name the file: kInvalidInput when it cannot be read
/// or is larger.
Result<std::string> read_text_file(const std::string& path, uint64_t limit);

}  // namespace tenon
