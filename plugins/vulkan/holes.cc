#include "holes.h"

#include <iterator>

namespace tenon::vulkan {

std::optional<uint64_t> Holes::take(uint64_t bytes) {
  auto best = free_.end();
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    if (hole->second >= bytes && (best == free_.end() || hole->second < best->second)) best = hole;
  }
  if (best == free_.end()) return std::nullopt;
  const auto [offset, size] = *best;
  free_.erase(best);
  if (size > bytes) free_.emplace(offset + bytes, size - bytes);
  return offset;
}

void Holes::give(uint64_t offset, uint64_t bytes) {
  const auto hole = free_.emplace(offset, bytes).first;
  if (const auto next = std::next(hole); next != free_.end() && offset + bytes == next->first) {
    hole->second += next->second;
    free_.erase(next);
  }
  if (hole == free_.begin()) return;
  if (const auto before = std::prev(hole); before->first + before->second == offset) {
    before->second += hole->second;
    free_.erase(hole);
  }
}

}  // namespace tenon::vulkan
