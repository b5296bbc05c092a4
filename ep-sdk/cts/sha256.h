// SHA-256 as in FIPS 180-4, so that the kit needs no library for it.
#pragma once

#include <string>
#include <string_view>

namespace tenon::cts {

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace tenon::cts
