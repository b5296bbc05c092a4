#include "host/base/size.h"

#include <charconv>
#include <cmath>

#include "host/base/text.h"

namespace tenon {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr Unit kUnits[] = {{"", 1},         {"B", 1},        {"kB", 1e3},    {"KB", 1e3},
                           {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},   {"KiB", 1024.0},
                           {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};

// Above this a double cannot count single bytes. No memory is that large.
constexpr double kLargest = 0x1p53;

}  // namespace

Result<uint64_t> parse_size(std::string_view text) {
  std::string_view trimmed = trim(text);
  double number = 0;
  auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number, std::chars_format::fixed);
  Status bad =
      config_error("'", text, "' is not a size; write for example \"512MiB\", \"4GiB\" or a number of bytes");
  if (error != std::errc() || !std::isfinite(number)) return bad;
  std::string_view unit = trim(trimmed.substr(static_cast<size_t>(end - trimmed.data())));
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    double bytes = number * known.bytes;
    if (bytes < 0 || bytes > kLargest) return config_error("size '", text, "' is out of range");
    return static_cast<uint64_t>(bytes);
  }
  return bad;
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
