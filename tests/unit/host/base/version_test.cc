#include "host/base/version.h"

#include <gtest/gtest.h>

namespace tenon::provider {
namespace {

Version v(std::string_view text) {
  Result<Version> version = parse_version(text);
  EXPECT_TRUE(version.ok()) << text;
  return version ? *version : Version();
}

bool in(std::string_view range, std::string_view version) {
  Result<VersionRange> parsed = VersionRange::parse(range);
  EXPECT_TRUE(parsed.ok()) << range;
  return parsed.ok() && parsed->contains(v(version));
}

TEST(Version, OrderOfTheStandard) {
  const char* ascending[] = {"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
                             "1.0.0-beta",  "1.0.0-beta.2",  "1.0.0-beta.11",
                             "1.0.0-rc.1",  "1.0.0",         "1.0.1",
                             "1.10.0",      "2.0.0"};
  for (size_t i = 0; i + 1 < std::size(ascending); ++i)
    EXPECT_LT(v(ascending[i]), v(ascending[i + 1])) << ascending[i];
  EXPECT_EQ(v("1.2.3+a"), v("1.2.3+b"));
  EXPECT_EQ(v("1.2.3-rc.1+b5").to_string(), "1.2.3-rc.1+b5");
}

TEST(Version, Refused) {
  for (const char* bad : {"", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.x", "v1.2.3", "1.2.3-", "1.2.3-01",
                          "1.2.3+", "1.2.-3", "4294967296.0.0", "1.2.3-a..b", " 1.2.3"}) {
    EXPECT_FALSE(parse_version(bad).ok()) << bad;
  }
}

TEST(VersionRange, Contains) {
  EXPECT_TRUE(in(">=1.2, <2", "1.2.0"));
  EXPECT_TRUE(in(">=1.2, <2", "1.99.0"));
  EXPECT_FALSE(in(">=1.2, <2", "2.0.0"));
  EXPECT_FALSE(in(">=1.2, <2", "1.1.9"));
  EXPECT_TRUE(in("1.4.0", "1.4.0"));
  EXPECT_FALSE(in("1.4.0", "1.4.1"));
  EXPECT_TRUE(in("1.4", "1.4.7"));
  EXPECT_TRUE(in("=1", "1.9.9"));
  EXPECT_TRUE(in("^1.2", "1.9.0"));
  EXPECT_FALSE(in("^1.2", "2.0.0"));
  EXPECT_FALSE(in("^0.2.1", "0.3.0"));
  EXPECT_TRUE(in("~1.2.3", "1.2.9"));
  EXPECT_FALSE(in("~1.2.3", "1.3.0"));
  EXPECT_TRUE(in("<=1.2", "1.2.7"));
  EXPECT_FALSE(in(">1.2", "1.2.7"));
  EXPECT_TRUE(in("*", "0.0.1"));
  EXPECT_TRUE(VersionRange().contains(v("3.2.1-beta")));
}

TEST(VersionRange, PrereleasesOnlyWhenNamed) {
  EXPECT_FALSE(in(">=1.0", "1.5.0-rc.1"));
  EXPECT_TRUE(in(">=1.5.0-rc.1", "1.5.0-rc.2"));
  EXPECT_TRUE(in("1.5.0-rc.1", "1.5.0-rc.1"));
}

TEST(VersionRange, Refused) {
  for (const char* bad : {"", ",", "newest", ">>1", "1.2.3.4", ">=", "1.2-rc", "!1"}) {
    EXPECT_FALSE(VersionRange::parse(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace tenon::provider
