// Sizes in bytes, as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon::shared {

/// Above this a double cannot count single bytes. No memory is that large.
inline constexpr uint64_t kLargestSize = uint64_t{1} << 53;

/// "4GiB", "512 MiB", "1.5GB", "100" -> bytes. Units: B, kB/KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB.
/// nullopt for another text, and above kLargestSize.
std::optional<uint64_t> read_size(std::string_view text);

}  // namespace tenon::shared
