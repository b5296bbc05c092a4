// The format of a compiled program in the host's cache.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::cuda {

/// 64-bit FNV-1a: detects damage, not forgery. `seed`: of the bytes before.
uint64_t checksum(std::string_view bytes, uint64_t seed = 0xcbf29ce484222325);

/// Adds a checksum: the driver trusts binaries, and a damaged one may end the process.
std::string pack_binary(std::string_view binary);

/// The binary in `blob`; empty if it is damaged or has another format.
std::string_view unpack_binary(std::string_view blob);

}  // namespace tenon::cuda
