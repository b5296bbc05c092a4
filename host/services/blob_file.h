// The files under the blob cache: everything about them that is special to one operating system.
#pragma once

#include <string>

#include "core/base/file.h"
#include "core/base/result.h"

namespace tenon::runtime {

/// NOT_FOUND for what is no regular file of this user. Renews the file's time.
Result<Mapping> map_file(const std::string& path);
/// Makes a folder and those above it; the last with mode 0700. Fails when it belongs to, or can be changed
/// by, others.
Status make_private_folder(const std::string& path);
/// $XDG_CACHE_HOME/tenon or ~/.cache/tenon; empty without a home or under elevated privileges.
std::string user_cache_folder();

}  // namespace tenon::runtime
