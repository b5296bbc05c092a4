// Makes names from files safe to print: quoted, without control characters, of bounded length.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// Escapes control characters, quotes and backslashes, and leaves out the middle of a long text. A name in a model
/// file may hold any bytes.
std::string printable(std::string_view text);
/// printable(text) in single quotes. Not named "quoted": with a std::string that would also find std::quoted.
std::string quote(std::string_view text);

}  // namespace tenon
