#include "host/provider/sha256.h"

#include <algorithm>
#include <vector>

#include "host/provider/open_file.h"

namespace tenon::provider {

std::string FileIdentity::to_string() const {
  return str_cat(device, ":", inode, ":", size, ":", modified_ns, ":", changed_ns);
}

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

Result<std::string> OpenFile::sha256() const {
  constexpr uint64_t kPiece = 1 << 20;
  std::vector<char> piece(static_cast<size_t>(std::min(kPiece, std::max<uint64_t>(size(), 1))));
  Sha256 hash;
  for (uint64_t offset = 0; offset < size();) {
    auto n = static_cast<size_t>(std::min<uint64_t>(piece.size(), size() - offset));
    if (!read(offset, piece.data(), n)) return invalid_input("'", path_, "' cannot be read to its end");
    hash.add(piece.data(), n);
    offset += n;
  }
  return hex_of(hash.digest());
}

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hex_of(hash.digest());
}

}  // namespace tenon::provider
