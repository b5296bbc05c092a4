// A program's binary as it lies in the host's cache.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::opencl {

/// What of a built program is kept.
struct CachedBinary {
  std::vector<std::string> warmed;  // "<kernel> <local size>": launches that the binary is warm for
  std::string binary;               // as the driver gave it
};

/// With a checksum: drivers trust what they are given, and a damaged binary may end the process.
std::string pack_binary(const CachedBinary& content);

/// False when `blob` is not whole, or of another form; then `out` means nothing.
bool unpack_binary(std::string_view blob, CachedBinary* out);

}  // namespace tenon::opencl
