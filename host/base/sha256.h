// SHA-256 of bytes.
#pragma once

// The plain functions of OpenSSL, which it would rather see replaced by those of <openssl/evp.h>: only these take no memory
// and no lock, and register nothing for the end of the process, so that they cannot fail and work in a child of fork and
// while another thread calls exit().
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
  /// Of all that was added. Nothing may be added afterwards.
  Digest digest();

 private:
  SHA256_CTX context_;
};

/// Lower-case hexadecimal digits.
std::string hex_of(const Sha256::Digest& digest);

/// hex_of the SHA-256 of a text.
std::string sha256_of(std::string_view text);

}  // namespace tenon
