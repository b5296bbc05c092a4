#include "host/provider/open_file.h"

#include <algorithm>
#include <vector>

#include "host/base/sha256.h"
#include "host/base/size.h"
#include "host/provider/known_files.h"

namespace tenon::provider {

std::string FileIdentity::to_string() const {
  return str_cat(device, ":", inode, ":", size, ":", modified_ns, ":", changed_ns);
}

Result<std::string> OpenFile::sha256() const {
  static constinit KnownFiles<std::string> known;
  ASSIGN_OR_RETURN(const std::shared_ptr<const std::string> hash,
                   known.get(*this, [this] { return read_sha256(); }));
  return *hash;
}

Result<std::string> OpenFile::text(uint64_t limit) const {
  if (size() > limit) return invalid_input("file '", path_, "' is larger than ", format_size(limit));
  std::string text(static_cast<size_t>(size()), '\0');
  if (!read(0, text.data(), text.size())) return invalid_input("'", path_, "' cannot be read completely");
  return text;
}

Result<std::string> OpenFile::read_sha256() const {
  constexpr uint64_t kPiece = 1 << 20;
  std::vector<char> piece(static_cast<size_t>(std::min(kPiece, std::max<uint64_t>(size(), 1))));
  Sha256 hash;
  for (uint64_t offset = 0; offset < size();) {
    auto n = static_cast<size_t>(std::min<uint64_t>(piece.size(), size() - offset));
    if (!read(offset, piece.data(), n)) return invalid_input("'", path_, "' cannot be read completely");
    hash.add(piece.data(), n);
    offset += n;
  }
  return hex_of(hash.digest());
}

}  // namespace tenon::provider
