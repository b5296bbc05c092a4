#include "ep-sdk/cts/glob.h"

#include <optional>

namespace tenon::cts {
namespace {

constexpr size_t kEnd = std::string_view::npos;

/// Of a set that begins at pattern[0] == '[': its length, and whether it has `c`. Empty when no ']' ends it: then '['
/// stands for itself.
std::optional<size_t> read_set(std::string_view pattern, char c, bool* has) {
  const auto number = [](char character) { return static_cast<unsigned char>(character); };
  size_t at = 1;
  const bool inverted = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  at += inverted ? 1 : 0;
  *has = false;
  const auto next = [&]() -> std::optional<char> {
    if (at < pattern.size() && pattern[at] == '\\') ++at;
    if (at >= pattern.size()) return std::nullopt;
    return pattern[at++];
  };
  for (bool first = true; at >= pattern.size() || pattern[at] != ']' || first; first = false) {
    const std::optional<char> low = next();
    if (!low) return std::nullopt;
    std::optional<char> high = low;
    if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
      ++at;
      high = next();
      if (!high) return std::nullopt;
    }
    *has = *has || (number(*low) <= number(c) && number(c) <= number(*high));
  }
  *has = *has != inverted;
  return at + 1;
}

/// The length of the first element of the pattern when it matches the character; empty when it does not.
std::optional<size_t> match_one(std::string_view pattern, char c) {
  if (pattern[0] == '?') return 1;
  bool has = false;
  if (pattern[0] == '[') {
    const std::optional<size_t> length = read_set(pattern, c, &has);
    if (length) return has ? length : std::nullopt;
  }
  const size_t skipped = pattern[0] == '\\' ? 1 : 0;
  if (skipped == pattern.size() || pattern[skipped] != c) return std::nullopt;
  return skipped + 1;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = kEnd,
         kept = 0;  // after the last '*': its place, and the text that it does not take yet
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      kept = t;
      continue;
    }
    const std::optional<size_t> length =
        p < pattern.size() ? match_one(pattern.substr(p), text[t]) : std::nullopt;
    if (length) {
      p += *length;
      ++t;
    } else if (star != kEnd) {
      p = star + 1;
      t = ++kept;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace tenon::cts
