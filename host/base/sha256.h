// SHA-256.
#pragma once

// Uses OpenSSL's SHA256_x functions although they are deprecated in favour of <openssl/evp.h>. They take no memory
// and no lock and register nothing for exit, so they cannot fail, and they work in a child of fork and while
// another thread calls exit().
#ifndef OPENSSL_SUPPRESS_DEPRECATED
#define OPENSSL_SUPPRESS_DEPRECATED
#endif
#include <openssl/sha.h>

#include <array>
#include <string>
#include <string_view>

namespace tenon {

class Sha256 {
 public:
  using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

  Sha256() { SHA256_Init(&context_); }
  void add(const void* data, size_t n) { SHA256_Update(&context_, data, n); }
  void add(std::string_view bytes) { add(bytes.data(), bytes.size()); }
  /// The digest of everything added. Call it once, last.
  Digest digest();

 private:
  SHA256_CTX context_;
};

/// Lower-case hexadecimal digits.
std::string hex_of(const Sha256::Digest& digest);

/// hex_of the SHA-256 of `text`.
std::string sha256_of(std::string_view text);

}  // namespace tenon
