// Regular expressions in RE2's syntax: whole-string match or search, in time linear in the string. Without
// captures, \C, and Unicode classes that the C library lacks (it has \pL, \p{Lu}, \p{Ll}, \pN, \pP, \pZ).
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/common/text.h"

namespace tenon::cpu {

class Regex {
 public:
  /// Throws an Error that says what is wrong with the pattern.
  explicit Regex(std::string_view pattern);

  /// Whether the pattern matches all of `text`, which is UTF-8. Passes `point` between code points.
  bool matches(std::string_view text, CancelPoint<Context>& point) const;

  using Text = std::span<const char32_t>;
  struct Found {
    size_t begin, end;  // in code points of the text
  };
  /// The leftmost match that begins at `from` or later; of those the longest.
  std::optional<Found> find(Text text, size_t from, CancelPoint<Context>& point) const;
  /// Whether the pattern can match without consuming a code point.
  bool may_be_empty() const;

  struct Range {
    char32_t first, last;
  };
  /// A set of code points. With `fold`, case is ignored.
  struct Set {
    std::vector<Range> ranges;
    bool negated = false, fold = false;
    bool contains(char32_t c) const;
  };
  enum class Op : uint8_t { kSet, kSplit, kJump, kAssert, kMatch };
  enum class Place : uint8_t { kTextBegin, kTextEnd, kLineBegin, kLineEnd, kWordEdge, kNoWordEdge };
  struct Instruction {
    Op op = Op::kMatch;
    Place place = Place::kTextBegin;
    int32_t next = 0, other = 0;  // kSplit goes to both; for kSet `other` is the index of its set
  };

 private:
  struct States;
  void enter(int32_t instruction, size_t start, Text text, size_t at, States& states) const;
  void advance(const States& now, Text text, size_t at, States& next) const;

  std::vector<Instruction> instructions_;
  std::vector<Set> sets_;
};

}  // namespace tenon::cpu
