#include "kernels/common/regex_parser.h"

#include <wctype.h>

#include "kernels/common/unicode_locale.h"

namespace tenon::cpu {
namespace {

using Node = RegexNode;
using NodePtr = RegexNodePtr;
using Range = Regex::Range;
using Set = Regex::Set;
using Place = Regex::Place;

constexpr int kMostRepeats = 1000, kMostDepth = 500;

NodePtr make_set(Set set) {
  auto out = std::make_unique<Node>(Node::Kind::kSet);
  out->set = std::move(set);
  return out;
}
NodePtr make_place(Place place) {
  auto out = std::make_unique<Node>(Node::Kind::kPlace);
  out->place = place;
  return out;
}

void complement(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.first < b.first; });
  std::vector<Range> out;
  char32_t next = 0;
  for (const Range r : ranges) {
    if (r.first > next) out.push_back({next, r.first - 1});
    next = std::max(next, static_cast<char32_t>(r.last + 1));
  }
  if (next <= kLastCodePoint) out.push_back({next, kLastCodePoint});
  ranges = std::move(out);
}

/// The ranges of \d, \s, \w and [[:name:]]; empty for an unknown class.
std::vector<Range> named_class(std::string_view name) {
  if (name == "d" || name == "digit") return {{'0', '9'}};
  if (name == "s") return {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
  if (name == "w" || name == "word") return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  if (name == "alnum") return {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}};
  if (name == "alpha") return {{'A', 'Z'}, {'a', 'z'}};
  if (name == "ascii") return {{0, 0x7F}};
  if (name == "blank") return {{'\t', '\t'}, {' ', ' '}};
  if (name == "cntrl") return {{0, 0x1F}, {0x7F, 0x7F}};
  if (name == "graph") return {{'!', '~'}};
  if (name == "lower") return {{'a', 'z'}};
  if (name == "print") return {{' ', '~'}};
  if (name == "punct") return {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}};
  if (name == "space") return {{'\t', '\r'}, {' ', ' '}};
  if (name == "upper") return {{'A', 'Z'}};
  if (name == "xdigit") return {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  return {};
}

/// The ranges of a Unicode class, from the tables of the C library; empty for an unknown class.
std::vector<Range> unicode_class(std::string_view name) {
  const char* type = name == "L"                   ? "alpha"
                     : name == "Lu"                ? "upper"
                     : name == "Ll"                ? "lower"
                     : name == "N" || name == "Nd" ? "digit"
                     : name == "P"                 ? "punct"
                     : name == "Z"                 ? "space"
                                                   : nullptr;
  const locale_t locale = unicode_locale();
  if (type == nullptr || locale == nullptr) return {};
  const wctype_t kind = wctype_l(type, locale);
  std::vector<Range> out;
  for (char32_t c = 0; c <= kLastCodePoint; ++c) {
    if (iswctype_l(static_cast<wint_t>(c), kind, locale) == 0) continue;
    if (!out.empty() && out.back().last + 1 == c)
      out.back().last = c;
    else
      out.push_back({c, c});
  }
  return out;
}

class Parser {
 public:
  explicit Parser(std::string_view pattern) : text_(decode_utf8(pattern)) {}

  NodePtr parse() {
    NodePtr out = choice();
    if (!done()) broken("an unmatched ')'");
    return out;
  }

 private:
  struct Flags {
    bool fold = false, dot_all = false, lines = false;
  };

  [[noreturn]] static void broken(const std::string& what) {
    fail(TENON_INVALID_ARGUMENT, "the pattern has ", what);
  }
  bool done() const { return at_ >= text_.size(); }
  char32_t peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0; }
  char32_t take() {
    if (done()) fail(TENON_INVALID_ARGUMENT, "the pattern ends too early");
    return text_[at_++];
  }
  bool accept(std::string_view word) {
    for (size_t i = 0; i < word.size(); ++i)
      if (at_ + i >= text_.size() || text_[at_ + i] != static_cast<char32_t>(word[i])) return false;
    at_ += word.size();
    return true;
  }

  NodePtr choice() {
    if (++depth_ > kMostDepth) broken("too many nested groups");
    const Flags flags = flags_;
    auto out = std::make_unique<Node>(Node::Kind::kChoice);
    do out->parts.push_back(sequence());
    while (accept("|"));
    flags_ = flags;
    --depth_;
    return out->parts.size() == 1 ? std::move(out->parts[0]) : std::move(out);
  }

  NodePtr sequence() {
    auto out = std::make_unique<Node>(Node::Kind::kSequence);
    while (!done() && peek() != '|' && peek() != ')') {
      if (accept("\\Q")) {
        while (!done() && !accept("\\E")) out->parts.push_back(literal(take()));
        if (!out->parts.empty()) out->parts.back() = repeated(std::move(out->parts.back()));
        continue;
      }
      out->parts.push_back(repeated(atom()));
    }
    return out;
  }

  NodePtr repeated(NodePtr inner) {
    for (int times = 0;; ++times) {
      int least = 0, most = -1;
      if (accept("*")) {
      } else if (accept("+")) {
        least = 1;
      } else if (accept("?")) {
        most = 1;
      } else if (!counts(&least, &most)) {
        return inner;
      }
      if (times > 0) broken("a repetition of a repetition");
      accept("?");  // lazy or greedy: the match is the same
      auto out = std::make_unique<Node>(Node::Kind::kRepeat);
      out->least = least;
      out->most = most;
      out->parts.push_back(std::move(inner));
      inner = std::move(out);
    }
  }

  /// Reads {n}, {n,} or {n,m}. Anything else is not a repetition.
  bool counts(int* least, int* most) {
    const size_t start = at_;
    if (!accept("{")) return false;
    const bool first = number(least);
    *most = *least;
    if (first && accept(",")) {
      *most = -1;
      if (peek() != '}' && !number(most)) *least = -1;
    }
    if (!first || *least < 0 || !accept("}")) {
      at_ = start;
      return false;
    }
    if (*least > kMostRepeats || *most > kMostRepeats || (*most >= 0 && *most < *least))
      broken("a repetition out of range");
    return true;
  }
  bool number(int* out) {
    if (peek() < '0' || peek() > '9') return false;
    *out = 0;
    while (peek() >= '0' && peek() <= '9')
      *out = std::min(*out * 10 + static_cast<int>(take() - '0'), kMostRepeats + 1);
    return true;
  }

  NodePtr literal(char32_t c) const { return make_set({{{c, c}}, false, flags_.fold}); }

  NodePtr atom() {
    switch (const char32_t c = take(); c) {
      case '(':
        return group();
      case '[':
        return make_set(bracket());
      case '.':
        return make_set(flags_.dot_all ? Set{{}, true, false} : Set{{{'\n', '\n'}}, true, false});
      case '^':
        return make_place(flags_.lines ? Place::kLineBegin : Place::kTextBegin);
      case '$':
        return make_place(flags_.lines ? Place::kLineEnd : Place::kTextEnd);
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
        broken("a repetition of nothing");
      default:
        return literal(c);
    }
  }

  NodePtr group() {
    const Flags outer = flags_;
    if (accept("?")) {
      if (accept("P<") || accept("<")) {
        while (take() != '>') {
        }
      } else if (read_flags()) {
        return std::make_unique<Node>(Node::Kind::kEmpty);  // (?i): until the group ends
      }
    }
    NodePtr out = choice();
    if (!accept(")")) broken("an unmatched '('");
    flags_ = outer;
    return out;
  }
  /// Reads the flags after "(?". True when the parenthesis was closed.
  bool read_flags() {
    bool value = true;
    for (;;) {
      const char32_t c = take();
      if (c == ')') return true;
      if (c == ':') return false;
      if (c == '-')
        value = false;
      else if (c == 'i')
        flags_.fold = value;
      else if (c == 's')
        flags_.dot_all = value;
      else if (c == 'm')
        flags_.lines = value;
      else if (c != 'U')
        broken("an unknown flag");
    }
  }

  NodePtr escape() {
    switch (peek()) {
      case 'A':
        return ++at_, make_place(Place::kTextBegin);
      case 'z':
        return ++at_, make_place(Place::kTextEnd);
      case 'b':
        return ++at_, make_place(Place::kWordEdge);
      case 'B':
        return ++at_, make_place(Place::kNoWordEdge);
      default:
        break;
    }
    std::vector<Range> ranges;
    if (class_escape(ranges)) return make_set({std::move(ranges), false, flags_.fold});
    return literal(character_escape());
  }

  /// Reads \d and similar classes, after the backslash.
  bool class_escape(std::vector<Range>& out) {
    const char32_t c = peek();
    bool negated = c == 'D' || c == 'S' || c == 'W' || c == 'P';
    std::vector<Range> ranges;
    if (c == 'p' || c == 'P') {
      ++at_;
      std::string name;
      if (accept("{")) {
        if (accept("^")) negated = !negated;
        while (peek() != '}') name += static_cast<char>(take());
        ++at_;
      } else {
        name += static_cast<char>(take());
      }
      ranges = unicode_class(name);
      if (ranges.empty()) broken("the Unicode class " + name + ", which is not supported");
    } else if (c == 'd' || c == 'D' || c == 's' || c == 'S' || c == 'w' || c == 'W') {
      ++at_;
      ranges = named_class(std::string(1, static_cast<char>(c | 32)));
    } else {
      return false;
    }
    if (negated) complement(ranges);
    out.insert(out.end(), ranges.begin(), ranges.end());
    return true;
  }

  char32_t character_escape() {
    const char32_t c = take();
    switch (c) {
      case 'a':
        return '\a';
      case 'f':
        return '\f';
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 'v':
        return '\v';
      case 'x':
        return hexadecimal();
      default:
        break;
    }
    if (c >= '0' && c <= '7') {
      char32_t value = c - '0';
      for (int i = 0; i < 2 && peek() >= '0' && peek() <= '7'; ++i) value = value * 8 + (take() - '0');
      return value;
    }
    if (is_word(c)) broken("an unknown escape");
    return c;
  }
  char32_t hexadecimal() {
    const bool braces = accept("{");
    char32_t value = 0;
    for (int i = 0; braces ? peek() != '}' : i < 2; ++i) {
      const char32_t c = take();
      const char32_t digit = c >= '0' && c <= '9'                 ? c - '0'
                             : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                                  : 16;
      value = value * 16 + digit;
      if (digit > 15 || value > kLastCodePoint) broken("an invalid hexadecimal escape");
    }
    if (braces) ++at_;
    return value;
  }

  Set bracket() {
    Set out;
    out.fold = flags_.fold;
    out.negated = accept("^");
    for (bool first = true; first || peek() != ']'; first = false) {
      if (accept("[:")) {
        posix_class(out.ranges);
        continue;
      }
      if (peek() == '\\') {
        ++at_;
        if (class_escape(out.ranges)) continue;
        --at_;
      }
      const char32_t low = bracket_character();
      char32_t high = low;
      if (peek() == '-' && peek(1) != ']') {
        ++at_;
        high = bracket_character();
      }
      if (high < low) broken("a range that goes backwards");
      out.ranges.push_back({low, high});
    }
    ++at_;
    return out;
  }
  char32_t bracket_character() {
    const char32_t c = take();
    return c == '\\' ? character_escape() : c;
  }
  void posix_class(std::vector<Range>& out) {
    std::string name;
    const bool negated = accept("^");
    while (!accept(":]")) name += static_cast<char>(take());
    std::vector<Range> ranges = named_class(name.size() == 1 ? "" : name);
    if (ranges.empty()) broken("the unknown class [:" + name + ":]");
    if (negated) complement(ranges);
    out.insert(out.end(), ranges.begin(), ranges.end());
  }

  std::vector<char32_t> text_;
  size_t at_ = 0;
  int depth_ = 0;
  Flags flags_;
};

}  // namespace

RegexNodePtr parse_regex(std::string_view pattern) { return Parser(pattern).parse(); }

}  // namespace tenon::cpu
