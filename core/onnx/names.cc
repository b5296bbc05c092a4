#include "core/onnx/names.h"

#include "core/base/quote.h"

namespace tenon::onnx {
namespace {

/// Bytes of the UTF-8 sequence at the beginning of `text`; 0 when it is none. Rejects overlong forms,
/// surrogates and numbers above U+10FFFF.
size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

Status check_name(std::string_view what, std::string_view name) {
  for (size_t at = 0; at < name.size();) {
    if (name[at] == '\0') return invalid_model("the name ", quote(name), " of a ", what, " has a zero byte");
    size_t length = utf8_length(name.substr(at));
    if (length == 0) return invalid_model("the name ", quote(name), " of a ", what, " is not UTF-8");
    at += length;
  }
  return ok_status();
}

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

std::string_view shown_domain(std::string_view domain) { return domain.empty() ? "ai.onnx" : domain; }

}  // namespace tenon::onnx
