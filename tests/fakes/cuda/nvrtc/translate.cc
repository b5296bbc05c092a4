#include "translate.h"

#include <algorithm>

#include "assembly.h"
#include "declarations.h"
#include "image.h"
#include "lexer.h"

namespace fake_cuda {
namespace {

class Translator {
 public:
  explicit Translator(const std::vector<Token>& tokens) : tokens_(tokens) {}

  std::string run(std::string* errors) {
    while (at_ < tokens_.size()) {
      const Token& token = tokens_[at_];
      if (token.is("asm") || token.is("__asm__") || token.is("__asm")) {
        assembly(errors);
      } else if (token.is("extern") && next_is("__shared__")) {
        dynamic_shared(errors);
      } else if (token.is("static") && next_is("__shared__")) {
        out_ += token.space;  // __shared__ says static
        ++at_;
      } else {
        out_ += token.space;
        out_ += token.text;
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  bool next_is(std::string_view text) const { return at_ + 1 < tokens_.size() && tokens_[at_ + 1].is(text); }

  size_t end_of_statement() const {
    size_t end = at_;
    while (end < tokens_.size() && !tokens_[end].is(";")) ++end;
    return end;
  }

  /// `extern __shared__ float x[];` is a pointer.
  void dynamic_shared(std::string* errors) {
    const size_t end = end_of_statement();
    size_t open = at_;
    while (open < end && !tokens_[open].is("[")) ++open;
    if (open == end || open < at_ + 4) {
      *errors += "error: the stand-in takes `extern __shared__ type name[];` only\n";
      at_ = end;
      return;
    }
    std::string type;
    for (size_t i = at_ + 2; i < open - 1; ++i) {
      if (tokens_[i].is("__align__") || tokens_[i].is("alignas") || tokens_[i].is("__attribute__")) {
        i = behind_bracket(tokens_, i + 1) - 1;
      } else {
        type += std::string(tokens_[i].text) + " ";
      }
    }
    const std::string name(tokens_[open - 1].text);
    // Outside of functions nothing can be read yet, so an object does it later.
    out_ +=
        std::string(tokens_[at_].space) +
        (depth() == 0 ? "static constexpr fake_cuda_dynamic<" + type + "> " + name
                      : type + "* const " + name + " = static_cast<" + type + "*>(fake_cuda_dynamic_shared)");
    at_ = end;
  }

  int depth() const {
    int depth = 0;
    for (size_t i = 0; i < at_; ++i) depth += tokens_[i].is("{") ? 1 : tokens_[i].is("}") ? -1 : 0;
    return depth;
  }

  void assembly(std::string* errors) {
    out_ += tokens_[at_].space;
    size_t open = at_ + 1;
    while (open < tokens_.size() && !tokens_[open].is("(")) ++open;
    const size_t behind = behind_bracket(tokens_, open);
    const std::string made = translate_assembly({tokens_.begin() + static_cast<ptrdiff_t>(open) + 1,
                                                 tokens_.begin() + static_cast<ptrdiff_t>(behind) - 1});
    if (made.empty()) {
      *errors += "error: the stand-in for NVRTC does not know the assembly in: asm" +
                 text_of(tokens_, open, behind) + "\n";
    }
    out_ += made;
    at_ = behind;
  }

  const std::vector<Token>& tokens_;
  size_t at_ = 0;
  std::string out_;
};

/// A table of kernels, and a function for each.
std::string entries(const std::vector<KernelDeclaration>& kernels, const std::vector<std::string>& names) {
  struct Entry {
    std::string expression, name, bounds;
  };
  std::vector<Entry> all;
  const auto bounds_of = [](const KernelDeclaration& kernel) {
    return kernel.launch_bounds.empty() ? std::string() : ", " + kernel.launch_bounds;
  };
  for (const KernelDeclaration& kernel : kernels) {
    if (kernel.is_c && !kernel.is_template)
      all.push_back({"&" + kernel.name, kernel.name, bounds_of(kernel)});
  }
  for (const std::string& name : names) {
    const std::string expression =
        name.find_first_not_of(" &") == std::string::npos ? name : name.substr(name.find_first_not_of(" &"));
    all.push_back({"&" + expression, lowered_name(name), ""});
  }
  std::string out =
      "\n# 1 \"<kernels>\"\n#define FAKE_CUDA_EXPORT extern \"C\" __attribute__((visibility(\"default\"), "
      "used))\n";
  if (all.empty()) return out;
  out +=
      "FAKE_CUDA_EXPORT __attribute__((section(\".fake_cuda_kernels\"))) const fake_cuda_info "
      "fake_cuda_infos[] = {\n";
  for (const Entry& entry : all)
    out += "  fake_cuda_info_of(" + entry.expression + ", \"" + entry.name + "\"" + entry.bounds + "),\n";
  out += "};\n";
  for (size_t i = 0; i < all.size(); ++i) {
    out += "FAKE_CUDA_EXPORT void fake_cuda_entry_" + std::to_string(i) +
           "(const unsigned char* arguments) { fake_cuda_run<" + all[i].expression + ">(arguments, " +
           all[i].expression + "); }\n";
  }
  return out +
         "static __thread char fake_cuda_anchor;\n"
         "FAKE_CUDA_EXPORT char* fake_cuda_static_shared() { return &fake_cuda_anchor; }\n";
}

}  // namespace

std::string lowered_name(const std::string& expression) { return "_Zfake" + hash_of(expression); }

Translation translate(std::string_view text, const std::vector<std::string>& names, bool device_by_default) {
  Translation out;
  std::string_view rest;
  const std::vector<Token> tokens = tokens_of(text, &rest);
  const Declarations declarations = find_declarations(tokens, device_by_default);
  out.errors = declarations.errors;
  out.text = Translator(tokens).run(&out.errors);
  out.text += rest;
  out.text += entries(declarations.kernels, names);
  return out;
}

}  // namespace fake_cuda
