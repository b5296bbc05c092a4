// The files under the blob cache: everything about them that is special to one operating system.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tenon::runtime {

/// A file mapped for reading.
struct MappedFile {
  void* address = nullptr;
  uint64_t bytes = 0;
  std::string_view view() const { return {static_cast<const char*>(address), static_cast<size_t>(bytes)}; }
};
/// NOT_FOUND for what is no regular file of this user. Renews the file's time.
Result<MappedFile> map_file(const std::string& path);
void unmap_file(const MappedFile& file);

/// Writes all pieces to a new file beside `path` and renames it, so that a reader sees the old or the new
/// content.
Status write_file_atomically(const std::string& path, std::span<const std::string_view> pieces);
/// Makes a folder and those above it; the last with mode 0700. Fails when it belongs to, or can be changed
/// by, others.
Status make_private_folder(const std::string& path);
/// $XDG_CACHE_HOME/tenon or ~/.cache/tenon; empty without a home or under elevated privileges.
std::string user_cache_folder();

}  // namespace tenon::runtime
