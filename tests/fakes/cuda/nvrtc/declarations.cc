#include "declarations.h"

#include <algorithm>

namespace fake_cuda {
namespace {

constexpr const char* kHostFunction =
    "A function without execution space annotations (__host__/__device__/__global__) is considered a host "
    "function, and "
    "host functions are not allowed in JIT mode. Consider using -default-device flag to process unannotated "
    "functions as "
    "__device__ functions in JIT mode";
constexpr const char* kMarkedHost =
    "A function explicitly marked as a __host__ function is not allowed in JIT mode";
constexpr const char* kHostVariable =
    "A namespace scope variable without memory space annotations "
    "(__device__/__constant__/__shared__/__managed__) is "
    "considered a host variable, and host variables are not allowed in JIT mode. Consider using "
    "-default-device flag to "
    "process unannotated namespace scope variables as __device__ variables in JIT mode";

class Finder {
 public:
  Finder(const std::vector<Token>& tokens, bool device_by_default)
      : tokens_(tokens), device_by_default_(device_by_default) {}

  Declarations run() {
    scope(tokens_.size(), false, false);
    return std::move(out_);
  }

 private:
  /// A declaration, without what is in brackets.
  struct Declaration {
    std::vector<std::string_view> words;  // at the top level
    std::string_view name;                // in front of the first parameters
    std::string launch_bounds;
    bool is_function = false, has_value = false, is_template = false, is_initialising = false;
    bool has(std::string_view word) const {
      return std::find(words.begin(), words.end(), word) != words.end();
    }
    std::string_view first() const { return words.empty() ? std::string_view() : words.front(); }
    bool is_type() const {
      return !is_function && (has("struct") || has("class") || has("union") || has("enum"));
    }
  };

  /// Namespaces and classes: one declaration after the other, up to `end` or a } that closes it.
  void scope(size_t end, bool in_class, bool is_c) {
    while (at_ < end) {
      if (tokens_[at_].is("}")) return;
      declaration(end, in_class, is_c);
    }
  }

  void declaration(size_t end, bool in_class, bool is_c) {
    Declaration it;
    while (at_ < end) {
      const Token& token = tokens_[at_];
      if (token.is("}")) return;
      if (token.kind == Token::kDirective) {
        mark_line(token.text);
        ++at_;
      } else if (token.is(";")) {
        judge(it, in_class, is_c);
        ++at_;
        return;
      } else if (token.is("{")) {
        if (braces(it, in_class, is_c)) return;
      } else {
        step(it, in_class);
      }
    }
  }

  void step(Declaration& it, bool in_class) {
    const Token& token = tokens_[at_];
    if (token.is("template") && at_ + 1 < tokens_.size() && tokens_[at_ + 1].is("<")) {
      it.is_template = true;
      at_ = behind_angle(tokens_, at_ + 1);
    } else if (token.is("__attribute__") || token.is("__align__") || token.is("alignas") ||
               token.is("decltype") || token.is("__launch_bounds__") || token.is("__declspec") ||
               token.is("static_assert") || token.is("noexcept")) {
      skip_call(it, token.text);
    } else if (token.is("(")) {
      if (!it.has_value && !it.is_function) {
        it.is_function = true;
        // Behind `operator` the first () may be the name itself.
        if (!it.words.empty() && it.words.back() == "operator") ++at_, ++at_;
        it.name = it.words.empty() ? std::string_view() : it.words.back();
      }
      at_ = behind_bracket(tokens_, at_);
    } else if (token.is("[")) {
      at_ = behind_bracket(tokens_, at_);
    } else if (in_class && token.is(":") && it.words.size() == 1 &&
               (it.first() == "public" || it.first() == "private" || it.first() == "protected")) {
      it = Declaration();
      ++at_;
    } else {
      if (token.is("=") && !it.is_function) it.has_value = true;
      if (token.is(":") && it.is_function) it.is_initialising = true;
      it.words.push_back(token.text);
      if (token.kind == Token::kName) line_of_name_ = line_at(at_);
      ++at_;
    }
  }

  void skip_call(Declaration& it, std::string_view name) {
    it.words.push_back(name);
    if (at_ + 1 >= tokens_.size() || !tokens_[at_ + 1].is("(")) {
      ++at_;
      return;
    }
    const size_t behind = behind_bracket(tokens_, at_ + 1);
    if (name == "__launch_bounds__") it.launch_bounds = text_of(tokens_, at_ + 2, behind - 1);
    at_ = behind;
  }

  /// Returns true if the declaration ends behind the braces.
  bool braces(Declaration& it, bool in_class, bool is_c) {
    const size_t behind = behind_bracket(tokens_, at_);
    const bool is_linkage = it.has("extern") && it.has("\"C\"") && !it.is_function && it.words.size() == 2;
    if (it.has("namespace") || is_linkage) {
      ++at_;
      scope(behind - 1, false, is_c || is_linkage);
      at_ = behind;
      return true;
    }
    if (it.is_type() && !it.has_value) {
      if (!it.has("enum")) {
        ++at_;
        scope(behind - 1, true, false);
      }
      at_ = behind;
      it.words.push_back("}");
      return false;
    }
    if (!it.is_function || it.has_value) {  // a value
      it.has_value = true;
      at_ = behind;
      return false;
    }
    if (it.is_initialising && !it.words.empty() && tokens_[at_ - 1].kind == Token::kName) {  // of a member
      at_ = behind;
      return false;
    }
    judge(it, in_class, is_c);
    at_ = behind;
    return true;
  }

  void judge(const Declaration& it, bool in_class, bool is_c) {
    if (it.words.empty() && !it.is_function) return;
    const std::string_view first = it.first();
    if (first == "using" || first == "typedef" || first == "static_assert" || first == "friend" ||
        first == "template" || first == "asm")
      return;
    if (it.is_function && !it.has_value) {
      function(it, is_c);
    } else if (!in_class) {
      variable(it);
    }
  }

  void function(const Declaration& it, bool is_c) {
    const bool is_device = it.has("__device__"), is_kernel = it.has("__global__");
    if (it.has("default") || it.has("delete")) return;  // = default
    if (it.has("__host__") && !is_device) return error(kMarkedHost);
    if (!is_device && !is_kernel && !device_by_default_) return error(kHostFunction);
    if (!is_kernel) return;
    if (!it.has("void")) return error("a __global__ function must have a void return type");
    KernelDeclaration kernel;
    kernel.name = it.name;
    kernel.launch_bounds = it.launch_bounds;
    kernel.is_c = is_c || (it.has("extern") && it.has("\"C\""));
    kernel.is_template = it.is_template;
    const auto same = [&](const KernelDeclaration& other) { return other.name == kernel.name; };
    const auto known = std::find_if(out_.kernels.begin(), out_.kernels.end(), same);
    if (known == out_.kernels.end()) {
      out_.kernels.push_back(std::move(kernel));
    } else if (known->launch_bounds.empty()) {
      known->launch_bounds = kernel.launch_bounds;
    }
  }

  void variable(const Declaration& it) {
    if (it.is_type() && (it.words.back() == "}" || it.words.size() == 2)) return;  // only a type
    for (const char* allowed :
         {"const", "constexpr", "__device__", "__constant__", "__shared__", "__managed__"}) {
      if (it.has(allowed)) return;
    }
    if (!device_by_default_) error(kHostVariable);
  }

  void error(const char* text) {
    out_.errors += file_ + "(" + std::to_string(line_of_name_) + "): error: " + text + "\n\n";
  }

  // ---- Where a token is ----

  /// # 12 "kernel.cu"
  void mark_line(std::string_view marker) {
    size_t at = marker.find_first_of("0123456789");
    if (at == std::string_view::npos || marker.find("pragma") != std::string_view::npos) return;
    line_ = 0;
    for (; at < marker.size() && marker[at] >= '0' && marker[at] <= '9'; ++at)
      line_ = line_ * 10 + (marker[at] - '0');
    const size_t open = marker.find('"', at), close = marker.rfind('"');
    if (open != std::string_view::npos && close > open) file_ = marker.substr(open + 1, close - open - 1);
    --line_;  // the line end behind the marker
    counted_ = at_ + 1;
  }
  int line_at(size_t token) {
    for (; counted_ <= token; ++counted_)
      line_ +=
          static_cast<int>(std::count(tokens_[counted_].space.begin(), tokens_[counted_].space.end(), '\n'));
    return line_;
  }

  const std::vector<Token>& tokens_;
  const bool device_by_default_;
  Declarations out_;
  size_t at_ = 0, counted_ = 0;
  int line_ = 1, line_of_name_ = 1;
  std::string file_;
};

}  // namespace

Declarations find_declarations(const std::vector<Token>& tokens, bool device_by_default) {
  return Finder(tokens, device_by_default).run();
}

}  // namespace fake_cuda
