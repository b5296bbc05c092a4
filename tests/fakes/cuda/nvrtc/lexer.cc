#include "lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace fake_cuda {
namespace {

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }
bool continues_name(char c) { return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run(std::string_view* rest) {
    std::vector<Token> out;
    for (;;) {
      const size_t blank = at_;
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        if (text_[at_] == '\n') line_begin_ = true;
        ++at_;
      }
      const std::string_view space = text_.substr(blank, at_ - blank);
      if (at_ == text_.size()) {
        *rest = space;
        return out;
      }
      Token token;
      token.space = space;
      const size_t begin = at_;
      token.kind = read();
      token.text = text_.substr(begin, at_ - begin);
      line_begin_ = false;
      out.push_back(token);
    }
  }

 private:
  Token::Kind read() {
    const char c = text_[at_];
    if (c == '#' && line_begin_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return Token::kDirective;
    }
    if (begins_name(c)) {
      const size_t begin = at_;
      while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
      const std::string_view name = text_.substr(begin, at_ - begin);
      if (at_ < text_.size() && text_[at_] == '"' && is_prefix(name)) {
        name.back() == 'R' ? skip_raw() : skip_quoted('"');
        return Token::kText;
      }
      return Token::kName;
    }
    const bool dot =
        c == '.' && at_ + 1 < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0;
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || dot) {
      skip_number();
      return Token::kNumber;
    }
    if (c == '"' || c == '\'') {
      skip_quoted(c);
      return Token::kText;
    }
    ++at_;
    static constexpr std::array kPairs = {
        "::", "->", "&&", "||", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "++", "--"};
    const std::string_view two = text_.substr(at_ - 1, 2);
    if (std::any_of(kPairs.begin(), kPairs.end(), [&](const char* pair) { return two == pair; })) ++at_;
    return Token::kPunctuation;
  }

  static bool is_prefix(std::string_view name) {
    return name == "R" || name == "L" || name == "u8" || name == "u" || name == "U" || name == "LR" ||
           name == "u8R";
  }
  void skip_quoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }
  void skip_raw() {
    const size_t open = text_.find('(', at_);
    const std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const size_t close = text_.find(end, open);
    at_ = close == std::string_view::npos ? text_.size() : close + end.size();
  }
  void skip_number() {
    while (at_ < text_.size()) {
      const char c = text_[at_], before = text_[at_ - (at_ > 0 ? 1 : 0)];
      const bool sign =
          (c == '+' || c == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P');
      if (!continues_name(c) && c != '.' && c != '\'' && !sign) return;
      ++at_;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  bool line_begin_ = true;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, std::string_view* rest) { return Lexer(text).run(rest); }

size_t behind_bracket(const std::vector<Token>& tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].kind != Token::kPunctuation) continue;
    const char c = tokens[i].text[0];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth == 0) return i + 1;
  }
  return tokens.size();
}

size_t behind_angle(const std::vector<Token>& tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].is("(") || tokens[i].is("{") || tokens[i].is("[")) {
      i = behind_bracket(tokens, i) - 1;
      continue;
    }
    if (tokens[i].is("<")) ++depth;
    if (tokens[i].is(">")) --depth;
    if (depth == 0) return i + 1;
  }
  return tokens.size();
}

std::string text_of(const std::vector<Token>& tokens, size_t begin, size_t end) {
  std::string out;
  for (size_t i = begin; i < end; ++i) {
    if (i > begin) out += tokens[i].space;
    out += tokens[i].text;
  }
  return out;
}

}  // namespace fake_cuda
