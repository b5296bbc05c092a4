// The kit's patterns for names mean what those of fnmatch() mean.
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "ep-sdk/cts/glob.h"

namespace tenon::cts {
namespace {

bool expected(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

TEST(KitGlob, MatchesAsFnmatchDoes) {
  for (const char* pattern :
       {"",       "*",       "?",   "R2*",   "R?",       "*.once", "hygiene.*",  "*a*b*",
        "[a-c]x", "[!a-c]x", "[]]", "[!]]",  "[a-]",     "[-a]",   "[a",         "a[",
        "\\*",    "\\[a]",   "a\\", "[\\]]", "*/test_*", "**",     "[a-c][0-9]?"}) {
    for (const char* text : {"",
                             "R2",
                             "R20",
                             "R",
                             "lifecycle.once",
                             "hygiene.file",
                             "ab",
                             "xaxbx",
                             "bx",
                             "dx",
                             "]",
                             "a",
                             "-",
                             "[a",
                             "a[",
                             "*",
                             "[a]",
                             "a\\",
                             "b7z",
                             "cases/test_add",
                             ".once"}) {
      EXPECT_EQ(matches(pattern, text), expected(pattern, text)) << pattern << " of " << text;
    }
  }
}

TEST(KitGlob, MatchesRandomPatternsAsFnmatchDoes) {
  std::mt19937 random(7);
  const auto text_of = [&](const std::string& letters) {
    std::string out(random() % 7, ' ');
    for (char& c : out) c = letters[random() % letters.size()];
    return out;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::string pattern = text_of("ab*?[]!."), text = text_of("ab[]!.");
    // What a class or a collating symbol means is not the kit's matter.
    if (pattern.find("[.") != std::string::npos || pattern.find("[[") != std::string::npos) continue;
    EXPECT_EQ(matches(pattern, text), expected(pattern, text)) << pattern << " of " << text;
  }
}

}  // namespace
}  // namespace tenon::cts
