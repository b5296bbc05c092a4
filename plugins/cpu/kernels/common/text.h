// Code points and upper and lower case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/shape.h"

namespace tenon::cpu {

/// Decodes UTF-8. An invalid byte is kept, and encode_utf8() restores it.
std::vector<char32_t> decode_utf8(std::string_view text);
std::string encode_utf8(const std::vector<char32_t>& text);
/// Whether `points` come from valid UTF-8 `text`: no stray bytes, surrogates or overlong forms.
bool is_utf8(std::string_view text, const std::vector<char32_t>& points);

enum class Case { kLower, kUpper };
/// Converts by the C library's Unicode tables, independent of the process's locale.
std::string change_case(std::string_view text, Case to);
char32_t change_case(char32_t letter, Case to);

}  // namespace tenon::cpu
