// Letters and code points.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/shape.h"

namespace tenon::cpu {

/// Code points of UTF-8; a byte that does not belong stands for itself.
std::vector<char32_t> decode_utf8(std::string_view text);
std::string encode_utf8(const std::vector<char32_t>& text);
/// Whether these are the code points of `text` and it is UTF-8 as the standard has it: no stray bytes, no surrogates,
/// none written longer than it need be.
bool is_utf8(std::string_view text, const std::vector<char32_t>& points);

enum class Case { kLower, kUpper };
/// Letter by letter, after the Unicode tables of the C library and whatever the process's locale is.
std::string change_case(std::string_view text, Case to);
char32_t change_case(char32_t letter, Case to);

}  // namespace tenon::cpu
