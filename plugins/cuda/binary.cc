#include "binary.h"

#include <cstdint>
#include <cstring>

namespace tenon::cuda {
namespace {

constexpr uint64_t kMagic = 0x31444f4d434e5400;  // format identifier

struct Header {
  uint64_t magic, sum, bytes;
};

}  // namespace

uint64_t checksum(std::string_view bytes, uint64_t seed) {
  for (const char c : bytes) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return seed;
}

std::string pack_binary(std::string_view binary) {
  const Header header{kMagic, checksum(binary), binary.size()};
  std::string out(sizeof header, '\0');
  std::memcpy(out.data(), &header, sizeof header);
  return out.append(binary);
}

std::string_view unpack_binary(std::string_view blob) {
  Header header{};
  if (blob.size() < sizeof header) return {};
  std::memcpy(&header, blob.data(), sizeof header);
  blob.remove_prefix(sizeof header);
  const bool is_whole = header.magic == kMagic && header.bytes == blob.size() && header.sum == checksum(blob);
  return is_whole ? blob : std::string_view();
}

}  // namespace tenon::cuda
