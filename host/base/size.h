// Sizes in bytes, as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tenon {

/// "4GiB", "512 MiB", "1.5GB", "100" -> bytes. Units: B, kB/KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB.
Result<uint64_t> parse_size(std::string_view text);
/// Bytes in the largest binary unit that divides them, such as "4GiB" or "100".
std::string format_size(uint64_t bytes);

}  // namespace tenon
