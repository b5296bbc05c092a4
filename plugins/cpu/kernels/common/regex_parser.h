// Parses regular expressions to a tree.
#pragma once

#include <memory>

#include "kernels/common/regex.h"

namespace tenon::cpu {

constexpr char32_t kLastCodePoint = 0x10FFFF;

/// An ASCII letter, digit or underscore.
inline bool is_word(char32_t c) {
  return (c < 0x80 && (c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z')));
}

struct RegexNode {
  enum class Kind { kEmpty, kSet, kPlace, kSequence, kChoice, kRepeat } kind = Kind::kEmpty;
  Regex::Set set;
  Regex::Place place = Regex::Place::kTextBegin;
  std::vector<std::unique_ptr<RegexNode>> parts;
  int least = 0, most = 0;  // kRepeat; most < 0: any number

  explicit RegexNode(Kind k) : kind(k) {}
};
using RegexNodePtr = std::unique_ptr<RegexNode>;

/// Throws an Error that says what is wrong with the pattern.
RegexNodePtr parse_regex(std::string_view pattern);

}  // namespace tenon::cpu
