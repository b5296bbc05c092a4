#include "host/base/size.h"

#include <iterator>

#include "ep-sdk/shared/size.h"

namespace tenon {

Result<uint64_t> parse_size(std::string_view text) {
  if (const std::optional<uint64_t> bytes = shared::read_size(text)) return *bytes;
  return config_error(
      "'", text, "' is not a size; write for example \"512MiB\", \"4GiB\" or a number of bytes, up to 2^53");
}

std::string format_size(uint64_t bytes) {
  constexpr std::string_view kNames[] = {"", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kNames)) {
    bytes /= 1024;
    ++unit;
  }
  return str_cat(bytes, kNames[unit]);
}

}  // namespace tenon
