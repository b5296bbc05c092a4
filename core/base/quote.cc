#include "core/base/quote.h"

namespace tenon {
namespace {

constexpr size_t kLongest = 160;

void escape(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  if (text.size() <= kLongest) {
    escape(out, text);
  } else {
    escape(out, text.substr(0, kLongest / 2));
    out += "...";
    escape(out, text.substr(text.size() - kLongest / 2));
  }
  return out;
}

std::string quote(std::string_view text) { return "'" + printable(text) + "'"; }

}  // namespace tenon
