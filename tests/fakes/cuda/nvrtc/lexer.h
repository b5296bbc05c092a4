// Tokens of C++ that has been preprocessed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fake_cuda {

struct Token {
  enum Kind { kName, kNumber, kText, kPunctuation, kDirective } kind = kPunctuation;
  std::string_view text;
  std::string_view space;  // in front of it: blanks and line ends

  bool is(std::string_view what) const { return text == what; }
};

/// Views into `text`. Directives, such as line markers, are one token each. `rest`: the blanks at the end.
std::vector<Token> tokens_of(std::string_view text, std::string_view* rest);

/// The token behind the bracket at `open` that belongs to it; the end if there is none. Knows (), [] and {}.
size_t behind_bracket(const std::vector<Token>& tokens, size_t open);
/// The same for the < of a template.
size_t behind_angle(const std::vector<Token>& tokens, size_t open);
/// The text of tokens [begin, end).
std::string text_of(const std::vector<Token>& tokens, size_t begin, size_t end);

}  // namespace fake_cuda
