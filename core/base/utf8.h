// What is UTF-8 and what is not, of bytes that come from files and libraries.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenon {

/// Bytes of the UTF-8 sequence at the beginning of `text`, which is not empty; 0 when it is none. Rejects overlong forms,
/// surrogates and numbers above U+10FFFF.
size_t utf8_length(std::string_view text);

}  // namespace tenon
