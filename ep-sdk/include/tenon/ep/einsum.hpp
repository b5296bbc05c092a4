// The equation of Einsum as labels: one character per dim.
#ifndef TENON_EP_EINSUM_HPP_
#define TENON_EP_EINSUM_HPP_

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/ep/tensor.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

struct ParsedEinsum {
  std::vector<std::string> inputs;  // dims of an ellipsis are digits, '0' is the last
  std::string output;
  Dims output_dims;
};

namespace einsum_detail {

/// Splits the equation into terms; '.' stands for the ellipsis.
inline std::vector<std::string> split_terms(std::string_view text) {
  std::vector<std::string> out(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      out.emplace_back();
    } else if (text[i] == '.') {
      require(text.substr(i, 3) == "...", TENON_INVALID_ARGUMENT, "a stray '.' in the equation");
      out.back() += '.';
      i += 2;
    } else {
      const bool letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
      require(letter, TENON_INVALID_ARGUMENT, "'", text[i], "' in the equation");
      out.back() += text[i];
    }
  }
  return out;
}

/// Replaces the ellipsis by `count` digits, descending to '0'.
inline std::string spell_ellipsis(const std::string& term, size_t count) {
  std::string out;
  for (const char c : term) {
    if (c != '.') out += c;
    for (size_t i = count; c == '.' && i-- > 0;) out += static_cast<char>('0' + i);
  }
  return out;
}

/// The output when "->" is missing: the ellipsis, then the letters that occur once, sorted.
inline std::string implied_output(const std::vector<std::string>& terms, size_t ellipsis) {
  std::map<char, int> seen;
  for (const std::string& term : terms) {
    for (const char c : term) seen[c] += c == '.' ? 0 : 1;
  }
  std::string out;
  for (const auto& [label, count] : seen) {
    if (count == 1) out += label;
  }
  return spell_ellipsis(".", ellipsis) + out;
}

}  // namespace einsum_detail

/// Checks the equation against the shapes of the inputs.
inline ParsedEinsum parse_einsum(std::string equation, const std::vector<DimsView>& inputs) {
  using namespace einsum_detail;
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->");
  const std::vector<std::string> terms = split_terms(std::string_view(equation).substr(0, arrow));
  require(terms.size() == inputs.size(), TENON_INVALID_ARGUMENT, "the equation '", equation, "' has ",
          terms.size(), " terms for ", inputs.size(), " inputs");

  ParsedEinsum parsed;
  std::map<char, int64_t> sizes;
  size_t ellipsis = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto letters =
        terms[i].size() - static_cast<size_t>(std::count(terms[i].begin(), terms[i].end(), '.'));
    const bool open = letters != terms[i].size();
    require(letters + 1 >= terms[i].size(), TENON_INVALID_ARGUMENT, "term '", terms[i],
            "' of the equation has more than one ellipsis");
    require(
        open ? inputs[i].size() >= letters && inputs[i].size() - letters < 10 : inputs[i].size() == letters,
        TENON_INVALID_ARGUMENT, "term '", terms[i], "' does not fit an input of shape ", inputs[i]);
    parsed.inputs.push_back(spell_ellipsis(terms[i], inputs[i].size() - letters));
    if (open) ellipsis = std::max(ellipsis, inputs[i].size() - letters);
    for (size_t d = 0; d < inputs[i].size(); ++d) {
      int64_t& size = sizes.try_emplace(parsed.inputs[i][d], 1).first->second;
      const int64_t dim = inputs[i][d];
      require(dim == size || dim == 1 || size == 1, TENON_INVALID_ARGUMENT, "dim ", d, " of input ", i,
              " is ", dim, " where another has ", size);
      if (dim != 1) size = dim;
    }
  }
  if (arrow == std::string::npos) {
    parsed.output = implied_output(terms, ellipsis);
  } else {
    const std::vector<std::string> right = split_terms(std::string_view(equation).substr(arrow + 2));
    require(right.size() == 1, TENON_INVALID_ARGUMENT, "the equation '", equation,
            "' has more than one output");
    parsed.output = spell_ellipsis(right[0], ellipsis);
  }
  for (size_t i = 0; i < parsed.output.size(); ++i)
    require(parsed.output.find(parsed.output[i], i + 1) == std::string::npos, TENON_INVALID_ARGUMENT,
            "the output of '", equation, "' names a label twice");
  for (const char c : parsed.output) {
    const auto size = sizes.find(c);
    require(size != sizes.end(), TENON_INVALID_ARGUMENT, "label '", c, "' of the output is not in any input");
    parsed.output_dims.push_back(size->second);
  }
  return parsed;
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_EINSUM_HPP_
