#include "options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

namespace fake_cuda {
namespace {

/// What NVRTC takes and what has no effect here.
constexpr std::array kIgnored = {"--device-c",
                                 "-dc",
                                 "--device-w",
                                 "-dw",
                                 "--extensible-whole-program",
                                 "-ewp",
                                 "--device-debug",
                                 "-G",
                                 "--generate-line-info",
                                 "-lineinfo",
                                 "--extra-device-vectorization",
                                 "-extra-device-vectorization",
                                 "--restrict",
                                 "-restrict",
                                 "--device-int128",
                                 "-device-int128",
                                 "--optimization-info",
                                 "--display-error-number",
                                 "-err-no",
                                 "--no-display-error-number",
                                 "-no-err-no",
                                 "--brief-diagnostics",
                                 "--no-source-include",
                                 "-no-source-include",
                                 "--minimal",
                                 "-minimal",
                                 "--device-stack-protector",
                                 "-device-stack-protector",
                                 "--no-cache",
                                 "-no-cache",
                                 "--fdevice-syntax-only",
                                 "-fdevice-syntax-only",
                                 "--Wreorder",
                                 "-Wreorder"};
/// Such with a value, behind = or as the next word.
constexpr std::array kIgnoredWithValue = {
    "--ptxas-options",      "-Xptxas",      "--maxrregcount",  "-maxrregcount",  "--dopt",      "-dopt",
    "--diag-error",         "-diag-error",  "--diag-suppress", "-diag-suppress", "--diag-warn", "-diag-warn",
    "--jump-table-density", "-jtd",         "--split-compile", "-split-compile", "--time",      "-time",
    "--frandom-seed",       "-frandom-seed"};
/// Those that are true or false.
constexpr std::array kFlags = {"--ftz",
                               "-ftz",
                               "--prec-sqrt",
                               "-prec-sqrt",
                               "--prec-div",
                               "-prec-div",
                               "--fmad",
                               "-fmad",
                               "--relocatable-device-code",
                               "-rdc",
                               "--modify-stack-limit",
                               "-modify-stack-limit",
                               "--builtin-move-forward",
                               "-builtin-move-forward",
                               "--builtin-initializer-list",
                               "-builtin-initializer-list"};

template <size_t N>
bool is_in(const std::array<const char*, N>& all, std::string_view name) {
  return std::any_of(all.begin(), all.end(), [&](const char* one) { return name == one; });
}

class Words {
 public:
  explicit Words(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      // Spaces around are allowed.
      const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
      if (begin != std::string::npos) words_.push_back(text.substr(begin, end - begin + 1));
    }
  }
  bool done() const { return at_ == words_.size(); }
  const std::string& next() { return words_[at_++]; }

 private:
  std::vector<std::string> words_;
  size_t at_ = 0;
};

/// The value of an option that is named so, joined by = or as the next word; of one letter also without =.
std::optional<std::string> value_of(const std::string& word, std::initializer_list<const char*> names,
                                    Words& words) {
  for (const char* name : names) {
    const size_t size = std::strlen(name);
    if (word == name && !words.done()) return words.next();
    if (word.compare(0, size, name) != 0 || word.size() <= size) continue;
    if (word[size] == '=') return word.substr(size + 1);
    if (size == 2 && name[1] != '-') return word.substr(size);
  }
  return std::nullopt;
}

bool set_architecture(const std::string& value, Options* out) {
  const bool is_real = value.compare(0, 3, "sm_") == 0;
  if (!is_real && value.compare(0, 8, "compute_") != 0) return false;
  std::string digits = value.substr(is_real ? 3 : 8);
  if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) digits.pop_back();
  const int number = std::atoi(digits.c_str());
  const auto& all = architectures();
  if (std::find(all.begin(), all.end(), number) == all.end() || std::to_string(number) != digits)
    return false;
  out->architecture = number;
  out->is_virtual = !is_real;
  return true;
}

bool set_standard(const std::string& value, Options* out) {
  for (const int standard : {3, 11, 14, 17, 20}) {
    char text[16];
    std::snprintf(text, sizeof(text), "c++%02d", standard);
    if (value != text) continue;
    out->standard = standard;
    return true;
  }
  return false;
}

std::string set_flag(const std::string& name, const std::string& value, Options* out) {
  if (value != "true" && value != "false") {
    const std::string bare = name.substr(name.find_first_not_of('-'));
    return "nvrtc: error: --" + bare + " (-" + bare + ") expects true or false\n";
  }
  if (name == "--fmad" || name == "-fmad") out->fmad = value == "true";
  return {};
}

}  // namespace

const std::vector<int>& architectures() {
  static const std::vector<int> all = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
  return all;
}

std::string read_options(const std::vector<std::string>& texts, Options* out) {
  out->texts = texts;
  Words words(texts);
  while (!words.done()) {
    const std::string word = words.next();
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (const auto arch = value_of(word, {"--gpu-architecture", "-arch"}, words)) {
      if (!set_architecture(*arch, out))
        return "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
    } else if (const auto standard = value_of(word, {"--std", "-std"}, words)) {
      if (!set_standard(*standard, out)) return "nvrtc: error: invalid value for --std(-std)\n";
    } else if (const auto define = value_of(word, {"--define-macro", "-D"}, words)) {
      out->preprocessor.push_back("-D" + *define);
    } else if (const auto undefine = value_of(word, {"--undefine-macro", "-U"}, words)) {
      out->preprocessor.push_back("-U" + *undefine);
    } else if (const auto folder = value_of(word, {"--include-path", "-I"}, words)) {
      out->preprocessor.push_back("-I" + *folder);
    } else if (const auto file = value_of(word, {"--pre-include", "-include"}, words)) {
      out->preprocessor.insert(out->preprocessor.end(), {"-include", *file});
    } else if (word == "--use_fast_math" || word == "-use_fast_math") {
      out->fast_math = true;
    } else if (word == "--device-as-default-execution-space" || word == "-default-device") {
      out->device_by_default = true;
    } else if (word == "--disable-warnings" || word == "-w") {
      out->warnings = false;
    } else if (is_in(kFlags, name)) {
      if (equals == std::string::npos && words.done())
        return "nvrtc: error: missing argument to " + word + "\n";
      const std::string value = equals == std::string::npos ? words.next() : word.substr(equals + 1);
      if (std::string error = set_flag(name, value, out); !error.empty()) return error;
    } else if (is_in(kIgnoredWithValue, name)) {
      if (equals == std::string::npos && !words.done()) words.next();
    } else if (!is_in(kIgnored, word)) {
      return "nvrtc: error: unrecognized option " + word + " found\n";
    }
  }
  return {};
}

}  // namespace fake_cuda
