// SHA-256 as FIPS 180-4 defines it: the kit needs no library for one hash.
#pragma once

#include <string>
#include <string_view>

namespace tenon::cts {

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace tenon::cts
