#include "core/base/utf8.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Utf8, LengthOfTheFirstSequence) {
  EXPECT_EQ(utf8_length("a"), 1u);
  EXPECT_EQ(utf8_length(std::string_view("\0", 1)), 1u);
  EXPECT_EQ(utf8_length("\xC3\xB6x"), 2u);
  EXPECT_EQ(utf8_length("\xE2\x82\xAC"), 3u);
  EXPECT_EQ(utf8_length("\xF4\x8F\xBF\xBF"), 4u);
}

TEST(Utf8, RejectsWhatIsNone) {
  // Alone, cut short, overlong, a surrogate, above U+10FFFF, no beginning.
  for (const char* text : {"\x80", "\xC3", "\xC3(", "\xC0\xAF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
                           "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(utf8_length(text), 0u) << text;
  }
}

}  // namespace
}  // namespace tenon
