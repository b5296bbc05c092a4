#include "kernels/common/text.h"

#include <wctype.h>

#include "kernels/common/unicode_locale.h"

namespace tenon::cpu {
namespace {

// A byte outside of valid code points is stored with this bit, which no code point has.
constexpr char32_t kStrayByte = 0x40000000;

/// The byte length of the code point that begins with `lead`; 0: no code point begins so.
int length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

}  // namespace

std::vector<char32_t> decode_utf8(std::string_view text) {
  std::vector<char32_t> out;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int length = length_of(lead);
    char32_t point = length == 1 ? lead : lead & (0x7Fu >> length);
    bool whole = length > 0 && i + static_cast<size_t>(length) <= text.size();
    for (int k = 1; whole && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + static_cast<size_t>(k)]);
      whole = (next & 0xC0) == 0x80;
      point = point << 6 | (next & 0x3Fu);
    }
    out.push_back(whole ? point : kStrayByte | lead);
    i += whole ? static_cast<size_t>(length) : 1;
  }
  return out;
}

std::string encode_utf8(const std::vector<char32_t>& text) {
  std::string out;
  for (const char32_t c : text) {
    if (c >= kStrayByte || c < 0x80) {
      out += static_cast<char>(c & 0xFF);
    } else if (c < 0x800) {
      out += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
    } else if (c < 0x10000) {
      out += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
              static_cast<char>(0x80 | (c & 0x3F))};
    } else {
      out += {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
              static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
    }
  }
  return out;
}

bool is_utf8(std::string_view text, const std::vector<char32_t>& points) {
  const auto is_point = [](char32_t c) { return c < 0xD800 || (c > 0xDFFF && c <= 0x10FFFF); };
  return std::all_of(points.begin(), points.end(), is_point) && encode_utf8(points) == text;
}

char32_t change_case(char32_t letter, Case to) {
  if (letter >= kStrayByte) return letter;
  if (letter < 0x80) {
    if (to == Case::kLower) return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
    return letter >= 'a' && letter <= 'z' ? letter - 32 : letter;
  }
  if (unicode_locale() == nullptr) return letter;
  const auto wide = static_cast<wint_t>(letter);
  return static_cast<char32_t>(to == Case::kLower ? towlower_l(wide, unicode_locale())
                                                  : towupper_l(wide, unicode_locale()));
}

std::string change_case(std::string_view text, Case to) {
  std::vector<char32_t> points = decode_utf8(text);
  for (char32_t& point : points) point = change_case(point, to);
  return encode_utf8(points);
}

}  // namespace tenon::cpu
