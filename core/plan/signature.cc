#include "core/plan/signature.h"

#include <cstring>

namespace tenon::plan {

void Signature::add_bytes(std::span<const std::byte> bytes) {
  words_.push_back(-3);
  words_.push_back(static_cast<int64_t>(bytes.size()));
  for (size_t at = 0; at < bytes.size(); at += sizeof(int64_t)) {
    int64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
    words_.push_back(word);
  }
}

uint64_t Signature::hash() const {
  uint64_t h = 0x9E3779B97F4A7C15u ^ words_.size();
  for (int64_t word : words_) {
    h = (h ^ static_cast<uint64_t>(word)) * 0xFF51AFD7ED558CCDu;
    h ^= h >> 32;
  }
  return h;
}

}  // namespace tenon::plan
