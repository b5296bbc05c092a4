#include "host/base/sha256.h"

namespace tenon {

Sha256::Digest Sha256::digest() {
  Digest out;
  SHA256_Final(out.data(), &context_);
  return out;
}

std::string hex_of(const Sha256::Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hex_of(hash.digest());
}

}  // namespace tenon
