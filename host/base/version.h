// Semantic versions and version ranges, as in manifests and `provider.<id>.version`.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tenon {

/// "1.2.3-rc.1+build5". Comparing ignores the build metadata.
struct Version {
  uint32_t major = 0, minor = 0, patch = 0;
  std::string prerelease, build;

  std::string to_string() const;
};

/// Order of semver.org, section 11: a prerelease is below its release, and numeric identifiers compare as numbers.
std::strong_ordering operator<=>(const Version& a, const Version& b);
inline bool operator==(const Version& a, const Version& b) { return (a <=> b) == 0; }

/// Requires exactly three numbers without leading zeros.
Result<Version> parse_version(std::string_view text);

/// Comparisons that must all hold: ">=1.2, <2", "1.4.0" (exactly), "^1.2" (>=1.2, <2), "~1.2.3" (>=1.2.3, <1.3), "*".
class VersionRange {
 public:
  /// Any version.
  VersionRange() = default;

  /// Missing parts of a version count as zero. "=1.2" and "1.2" mean any 1.2.x.
  static Result<VersionRange> parse(std::string_view text);

  /// A prerelease is contained only when the range is exact or a bound names a prerelease of the same three numbers.
  bool contains(const Version& version) const;
  const std::string& text() const { return text_; }

 private:
  enum class Op { kLess, kLessEqual, kGreater, kGreaterEqual, kEqual };
  struct Bound {
    Op op;
    Version version;
  };

  std::vector<Bound> bounds_;
  std::string text_;
};

}  // namespace tenon
