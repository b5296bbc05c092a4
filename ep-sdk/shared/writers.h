// Who may change a file that will be run.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::shared {

/// Whether this system has the owners and modes that other_writer() looks at.
#if defined(_WIN32)
inline constexpr bool kHasFileModes = false;
#else
inline constexpr bool kHasFileModes = true;
#endif

/// Says why others than root, this process's user and the user `trusted` could change the file at `path`, a real path:
/// one of them owns or may write it or a folder above it. Empty when nobody can. Folders with the sticky bit are
/// accepted, and write access of the owner's private group, which some distributions give by default. Throws
/// std::bad_alloc. Exists where kHasFileModes.
std::string other_writer(const std::string& path, uint32_t trusted = 0);

/// True when the group is the user's own and has no other member. Throws std::bad_alloc.
bool is_private_group(uint32_t user, uint32_t group);

}  // namespace tenon::shared
