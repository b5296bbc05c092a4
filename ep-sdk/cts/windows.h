// The Windows API, for the files *_windows.cc alone.
#pragma once

#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
// clang-format off: other headers of Windows need this one before them
#include <windows.h>
// clang-format on

#include <string>
#include <system_error>

namespace tenon::cts {

/// Texts of the kit are UTF-8, those of Windows UTF-16.
std::wstring to_wide(const std::string& text);
std::string to_utf8(const std::wstring& text);
/// What GetLastError() says, with what failed.
std::system_error last_error(const std::string& what);

}  // namespace tenon::cts
