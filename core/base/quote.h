// Names from files in messages: quoted, without control characters, of bounded length.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// The text with control characters, quotes and backslashes escaped and the middle of a long text left out.
/// A name in a model file may hold anything; what is printed may not.
std::string printable(std::string_view text);
/// printable(text) in single quotes. Not "quoted", which std::string arguments would take for std::quoted.
std::string quote(std::string_view text);

}  // namespace tenon
