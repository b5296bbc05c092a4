// SHA-256 as in FIPS 180-4, so that the kit needs no library for it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::cts {

std::array<uint8_t, 32> sha256_bytes(std::string_view bytes);
/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace tenon::cts
