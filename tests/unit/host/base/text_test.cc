#include "host/base/text.h"

#include <gtest/gtest.h>

#include "host/base/size.h"
#include "host/config/config.h"

namespace tenon::config {
namespace {

TEST(Glob, StarsAndQuestionMarks) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("cu*", "cuda"));
  EXPECT_TRUE(glob_match("*d?", "cuda"));
  EXPECT_TRUE(glob_match("a*b*c", "aXXbYYbc"));
  EXPECT_FALSE(glob_match("cu", "cuda"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_FALSE(glob_match("a*b", "acd"));
}

TEST(Size, Units) {
  EXPECT_EQ(parse_size("4GiB").value_or(0), uint64_t{4} << 30);
  EXPECT_EQ(parse_size(" 512 MiB ").value_or(0), uint64_t{512} << 20);
  EXPECT_EQ(parse_size("1.5GB").value_or(0), 1500000000u);
  EXPECT_EQ(parse_size("100").value_or(0), 100u);
  EXPECT_EQ(parse_size("0").value_or(1), 0u);
  for (const char* bad : {"", "GiB", "-1", "4 G", "1e400", "nan", "inf", "99999999TiB", "0x10"}) {
    EXPECT_FALSE(parse_size(bad).ok()) << bad;
  }
  EXPECT_EQ(format_size(uint64_t{4} << 30), "4GiB");
  EXPECT_EQ(format_size(1500), "1500");
  EXPECT_EQ(format_size(0), "0");
}

}  // namespace
}  // namespace tenon::config
