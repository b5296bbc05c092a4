// The files of the blob cache. Each system has its own implementation.
#pragma once

#include <string>

#include "core/base/file.h"
#include "core/base/result.h"

namespace tenon::runtime {

/// Maps a file and renews its time. NOT_FOUND unless it is a regular file of this user with content.
Result<Mapping> map_file(const std::string& path);
/// Makes the folder with mode 0700, and missing folders above it. Fails when others own it or may change it.
Status make_private_folder(const std::string& path);
/// $XDG_CACHE_HOME/tenon or ~/.cache/tenon; empty without a home or under elevated privileges.
std::string user_cache_folder();

}  // namespace tenon::runtime
