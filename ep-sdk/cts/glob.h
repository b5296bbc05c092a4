// Patterns for names of checks and cases.
#pragma once

#include <string_view>

namespace tenon::cts {

/// Whether the whole text matches, as in fnmatch() of POSIX without flags: `*` any characters, `?` one, `[a-z]` and
/// `[!a-z]` one of a set, and a backslash takes away the special meaning of the next character.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace tenon::cts
