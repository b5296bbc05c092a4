// UTF-8 checks for bytes from files and libraries.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenon {

/// Length of the UTF-8 sequence at the start of `text`, which must not be empty; 0 when it is not UTF-8. Rejects
/// overlong forms, surrogates and code points above U+10FFFF.
size_t utf8_length(std::string_view text);

}  // namespace tenon
