#include "core/base/quote.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Quote, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(quote("conv1"), "'conv1'");
  EXPECT_EQ(quote("a'b\\c"), "'a\\'b\\\\c'");
  EXPECT_EQ(quote("\x1b[2J\n\x7f"), "'\\x1b[2J\\x0a\\x7f'");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(quote("Größe"), "'Größe'");
}

TEST(Quote, KeepsBothEndsOfLongText) {
  std::string text = "begin" + std::string(1'000'000, '.') + "end";
  std::string shown = quote(text);
  EXPECT_LT(shown.size(), 200u);
  EXPECT_EQ(shown.substr(0, 6), "'begin");
  EXPECT_EQ(shown.substr(shown.size() - 4), "end'");
}

}  // namespace
}  // namespace tenon
