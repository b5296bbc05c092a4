#include "host/base/version.h"

#include <algorithm>
#include <charconv>

#include "host/base/text.h"

namespace tenon {
namespace {

bool is_identifier(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text) {
    bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    if (!good) return false;
  }
  return true;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool parse_number(std::string_view text, uint32_t& out) {
  if (!is_number(text) || (text.size() > 1 && text[0] == '0')) return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// Returns the text up to the first `separator` and removes both from `rest`.
std::string_view take_until(std::string_view& rest, char separator) {
  size_t end = rest.find(separator);
  std::string_view head = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return head;
}

bool identifiers_are_good(std::string_view text, bool leading_zeros) {
  while (true) {
    bool last = text.find('.') == std::string_view::npos;
    std::string_view part = take_until(text, '.');
    if (!is_identifier(part)) return false;
    if (!leading_zeros && is_number(part) && part.size() > 1 && part[0] == '0') return false;
    if (last) return true;
  }
}

// Reads "1", "1.2" or "1.2.3-rc.1+b". `parts` becomes the count of numbers that were written.
bool parse_partial(std::string_view text, Version& out, int& parts) {
  std::string_view rest = text;
  size_t plus = rest.find('+');
  if (plus != std::string_view::npos) {
    out.build = rest.substr(plus + 1);
    if (!identifiers_are_good(out.build, true)) return false;
    rest = rest.substr(0, plus);
  }
  size_t dash = rest.find('-');
  if (dash != std::string_view::npos) {
    out.prerelease = rest.substr(dash + 1);
    if (!identifiers_are_good(out.prerelease, false)) return false;
    rest = rest.substr(0, dash);
  }
  uint32_t* numbers[] = {&out.major, &out.minor, &out.patch};
  for (parts = 0; parts < 3;) {
    bool last = rest.find('.') == std::string_view::npos;
    if (!parse_number(take_until(rest, '.'), *numbers[parts++])) return false;
    if (last) return parts == 3 || (dash == std::string_view::npos && plus == std::string_view::npos);
  }
  return false;
}

std::strong_ordering compare_identifiers(std::string_view a, std::string_view b) {
  if (!is_number(a) || !is_number(b)) {
    if (is_number(a) != is_number(b))
      return is_number(a) ? std::strong_ordering::less : std::strong_ordering::greater;
    return a <=> b;
  }
  if (a.size() != b.size()) return a.size() <=> b.size();  // no leading zeros, so the longer number is larger
  return a <=> b;
}

std::strong_ordering compare_prerelease(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() <=> b.empty();  // a release is above its prereleases
  while (!a.empty() && !b.empty()) {
    auto order = compare_identifiers(take_until(a, '.'), take_until(b, '.'));
    if (order != 0) return order;
  }
  return a.size() <=> b.size();
}

// The first version above all versions that share the first `parts` numbers.
Version next(const Version& version, int parts) {
  Version out;
  out.major = version.major + (parts == 1);
  out.minor = parts == 1 ? 0 : version.minor + (parts == 2);
  out.patch = parts < 3 ? 0 : version.patch + 1;
  return out;
}

}  // namespace

std::string Version::to_string() const {
  std::string out = str_cat(major, ".", minor, ".", patch);
  if (!prerelease.empty()) out += "-" + prerelease;
  if (!build.empty()) out += "+" + build;
  return out;
}

std::strong_ordering operator<=>(const Version& a, const Version& b) {
  if (auto order = a.major <=> b.major; order != 0) return order;
  if (auto order = a.minor <=> b.minor; order != 0) return order;
  if (auto order = a.patch <=> b.patch; order != 0) return order;
  return compare_prerelease(a.prerelease, b.prerelease);
}

Result<Version> parse_version(std::string_view text) {
  Version version;
  int parts = 0;
  if (text.size() > 128 || !parse_partial(text, version, parts) || parts != 3) {
    return invalid_input("'", text,
                         "' is not a version; write three numbers such as \"1.4.0\" or \"2.0.0-rc.1\"");
  }
  return version;
}

Result<VersionRange> VersionRange::parse(std::string_view text) {
  VersionRange range;
  range.text_ = trim(text);
  Status bad = invalid_input("'", text,
                             "' is not a version range; write for example \">=1.2, <2\", \"1.4.0\" or \"*\"");
  std::vector<std::string> comparisons = split(range.text_, ',');
  if (comparisons.empty() || range.text_.size() > 256) return bad;
  for (std::string_view comparison : comparisons) {
    if (comparison == "*") continue;
    std::string_view op = comparison.substr(0, comparison.find_first_not_of("<>=^~"));
    Version low;
    int parts = 0;
    if (!parse_partial(trim(comparison.substr(op.size())), low, parts)) return bad;
    if (op == "<") {
      range.bounds_.push_back({Op::kLess, low});
    } else if (op == "<=") {
      range.bounds_.push_back(parts == 3 ? Bound{Op::kLessEqual, low} : Bound{Op::kLess, next(low, parts)});
    } else if (op == ">") {
      range.bounds_.push_back(parts == 3 ? Bound{Op::kGreater, low}
                                         : Bound{Op::kGreaterEqual, next(low, parts)});
    } else if (op == ">=") {
      range.bounds_.push_back({Op::kGreaterEqual, low});
    } else if ((op.empty() || op == "=" || op == "==") && parts == 3) {
      range.bounds_.push_back({Op::kEqual, low});
    } else if (op.empty() || op == "=" || op == "==" || op == "^" || op == "~") {
      // '^' keeps the first number that is not zero, '~' the first two, and a bare prefix all that are written.
      int kept = op == "^"   ? (low.major != 0 || parts == 1   ? 1
                                : low.minor != 0 || parts == 2 ? 2
                                                               : 3)
                 : op == "~" ? std::min(parts, 2)
                             : parts;
      range.bounds_.push_back({Op::kGreaterEqual, low});
      range.bounds_.push_back({Op::kLess, next(low, kept)});
    } else {
      return bad;
    }
  }
  return range;
}

bool VersionRange::contains(const Version& version) const {
  bool prerelease_named = version.prerelease.empty() || bounds_.empty();
  for (const Bound& bound : bounds_) {
    auto order = version <=> bound.version;
    bool good = (bound.op == Op::kLess && order < 0) || (bound.op == Op::kLessEqual && order <= 0) ||
                (bound.op == Op::kGreater && order > 0) || (bound.op == Op::kGreaterEqual && order >= 0) ||
                (bound.op == Op::kEqual && order == 0);
    if (!good) return false;
    bool same = bound.version.major == version.major && bound.version.minor == version.minor &&
                bound.version.patch == version.patch;
    if (same && !bound.version.prerelease.empty()) prerelease_named = true;
  }
  return prerelease_named;
}

}  // namespace tenon
