#include "ep-sdk/shared/size.h"

#include <charconv>
#include <cmath>

namespace tenon::shared {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr Unit kUnits[] = {{"", 1},         {"B", 1},        {"kB", 1e3},    {"KB", 1e3},
                           {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},   {"KiB", 1024.0},
                           {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpaces);
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

}  // namespace

std::optional<uint64_t> read_size(std::string_view text) {
  const std::string_view trimmed = trim(text);
  double number = 0;
  const auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view unit = trim(trimmed.substr(static_cast<size_t>(end - trimmed.data())));
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    const double bytes = number * known.bytes;
    if (bytes < 0 || bytes > static_cast<double>(kLargestSize)) return std::nullopt;
    return static_cast<uint64_t>(bytes);
  }
  return std::nullopt;
}

}  // namespace tenon::shared
