// The format of an OpenCL program's binary in the host's cache.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::opencl {

/// The cached content of a built OpenCL program.
struct CachedBinary {
  std::vector<std::string> warmed;  // "<kernel> <local size>": launches for which the binary is warm
  std::string binary;               // as the driver returned it
};

/// Adds a checksum: drivers trust binaries, and a damaged one may end the process.
std::string pack_binary(const CachedBinary& content);

/// Returns false if `blob` is damaged or has another format; `out` is then undefined.
bool unpack_binary(std::string_view blob, CachedBinary* out);

}  // namespace tenon::opencl
