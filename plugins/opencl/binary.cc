#include "binary.h"

#include <cstdint>
#include <cstring>

namespace tenon::opencl {
namespace {

constexpr uint64_t kMagic = 0x31424c434e4e5400;  // format identifier

/// 64-bit FNV-1a: detects damage, not forgery.
uint64_t checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

void put(std::string* out, uint64_t number) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

bool take(std::string_view* from, uint64_t* number) {
  if (from->size() < sizeof(*number)) return false;
  std::memcpy(number, from->data(), sizeof(*number));
  from->remove_prefix(sizeof(*number));
  return true;
}

bool take(std::string_view* from, std::string* text) {
  uint64_t size = 0;
  if (!take(from, &size) || size > from->size()) return false;
  text->assign(from->data(), size);
  from->remove_prefix(size);
  return true;
}

}  // namespace

std::string pack_binary(const CachedBinary& content) {
  std::string body;
  put(&body, content.warmed.size());
  for (const std::string& launch : content.warmed) {
    put(&body, launch.size());
    body += launch;
  }
  put(&body, content.binary.size());
  body += content.binary;
  std::string out;
  put(&out, kMagic);
  put(&out, checksum(body));
  return out + body;
}

bool unpack_binary(std::string_view blob, CachedBinary* out) {
  uint64_t magic = 0, sum = 0, count = 0;
  if (!take(&blob, &magic) || magic != kMagic || !take(&blob, &sum) || sum != checksum(blob)) return false;
  if (!take(&blob, &count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    std::string launch;
    if (!take(&blob, &launch)) return false;
    out->warmed.push_back(std::move(launch));
  }
  return take(&blob, &out->binary) && blob.empty() && !out->binary.empty();
}

}  // namespace tenon::opencl
