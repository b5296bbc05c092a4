#include <openssl/evp.h>

#include <algorithm>
#include <vector>

#include "host/provider/open_file.h"

namespace tenon::provider {

std::string FileIdentity::to_string() const {
  return str_cat(device, ":", inode, ":", size, ":", modified_ns, ":", changed_ns);
}

namespace {

class Hasher {
 public:
  Hasher() : context_(EVP_MD_CTX_new()) {
    good_ = context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1;
  }
  ~Hasher() { EVP_MD_CTX_free(context_); }
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(const void* data, size_t n) { good_ = good_ && EVP_DigestUpdate(context_, data, n) == 1; }

  // Empty when the crypto library failed.
  std::string hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (!good_ || EVP_DigestFinal_ex(context_, digest, &size) != 1) return {};
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
      out += kDigits[digest[i] >> 4];
      out += kDigits[digest[i] & 15];
    }
    return out;
  }

 private:
  EVP_MD_CTX* context_;
  bool good_ = false;
};

}  // namespace

Result<std::string> OpenFile::sha256() const {
  constexpr uint64_t kPiece = 1 << 20;
  std::vector<char> piece(static_cast<size_t>(std::min(kPiece, std::max<uint64_t>(size(), 1))));
  Hasher hasher;
  for (uint64_t offset = 0; offset < size();) {
    auto n = static_cast<size_t>(std::min<uint64_t>(piece.size(), size() - offset));
    if (!read(offset, piece.data(), n)) return invalid_input("'", path_, "' cannot be read to its end");
    hasher.add(piece.data(), n);
    offset += n;
  }
  std::string hex = hasher.hex();
  if (hex.empty()) return internal_error("the crypto library cannot compute SHA-256");
  return hex;
}

std::string sha256_of(std::string_view text) {
  Hasher hasher;
  hasher.add(text.data(), text.size());
  return hasher.hex();
}

}  // namespace tenon::provider
