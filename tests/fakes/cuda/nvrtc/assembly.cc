#include "assembly.h"

#include <array>
#include <cctype>

namespace fake_cuda {
namespace {

/// `call` is a function of the shim: its result is operand 0, its arguments are the others. Void functions, whose names end
/// with `(`, get all operands.
struct Known {
  std::string_view ptx;
  std::string_view call;
};
constexpr std::array kKnown = {
    Known{"cvt.f32.f16 %0,%1;", "fake_cuda_half_to_float"},
    Known{"cvt.rn.f16.f32 %0,%1;", "fake_cuda_float_to_half"},
    Known{"cvt.f32.bf16 %0,%1;", "fake_cuda_bfloat_to_float"},
    Known{"cvt.rn.bf16.f32 %0,%1;", "fake_cuda_float_to_bfloat"},
    Known{"ex2.approx.f32 %0,%1;", "exp2f"},
    Known{"ex2.approx.ftz.f32 %0,%1;", "exp2f"},
    Known{"lg2.approx.f32 %0,%1;", "log2f"},
    Known{"rcp.approx.f32 %0,%1;", "__frcp_rn"},
    Known{"rcp.approx.ftz.f32 %0,%1;", "__frcp_rn"},
    Known{"rsqrt.approx.f32 %0,%1;", "rsqrtf"},
    Known{"sqrt.approx.f32 %0,%1;", "sqrtf"},
    Known{"tanh.approx.f32 %0,%1;", "tanhf"},
};

/// Without braces around it, and with one blank or none between words.
std::string normal(std::string_view ptx) {
  std::string out;
  for (const char c : ptx) {
    if (c == '{' || c == '}') continue;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (!out.empty() && out.back() != ' ' && out.back() != ',' && out.back() != ';') out += ' ';
    } else {
      if (c == ',' || c == ';') {
        while (!out.empty() && out.back() == ' ') out.pop_back();
      }
      out += c;
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// The content of "..." with \n and \t as blanks.
std::string content(std::string_view literal) {
  std::string out;
  for (size_t i = 1; i + 1 < literal.size(); ++i) {
    if (literal[i] == '\\') {
      ++i;
      out += ' ';
    } else {
      out += literal[i];
    }
  }
  return out;
}

/// The expressions of "=f"(x), "h"(y), in turn, of outputs and inputs.
std::vector<std::string> operands(const std::vector<Token>& tokens, size_t at) {
  std::vector<std::string> out;
  while (at < tokens.size()) {
    if (!tokens[at].is("(")) {
      ++at;
      continue;
    }
    const size_t behind = behind_bracket(tokens, at);
    out.push_back(text_of(tokens, at + 1, behind - 1));
    at = behind;
  }
  return out;
}

}  // namespace

std::string translate_assembly(const std::vector<Token>& tokens) {
  std::string ptx;
  size_t at = 0;
  for (; at < tokens.size() && tokens[at].kind == Token::kText; ++at) ptx += content(tokens[at].text);
  const std::string wanted = normal(ptx);
  if (wanted.empty()) return "((void)0)";  // only tells the compiler something
  const std::vector<std::string> all = operands(tokens, at);
  for (const Known& known : kKnown) {
    if (wanted != known.ptx || all.empty()) continue;
    std::string out = "(" + all[0] + ") = " + std::string(known.call) + "(";
    for (size_t i = 1; i < all.size(); ++i) out += (i > 1 ? ", " : "") + std::string("(") + all[i] + ")";
    return out + ")";
  }
  return {};
}

}  // namespace fake_cuda
