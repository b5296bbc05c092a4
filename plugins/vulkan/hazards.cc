#include "hazards.h"

#include <algorithm>

namespace tenon::vulkan {
namespace {

bool overlap(const BufferRange& a, const BufferRange& b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

bool Hazards::need_barrier(std::span<const Access> accesses) {
  const bool needed = std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    return std::any_of(since_.begin(), since_.end(), [&](const Access& known) {
      return (access.writes || known.writes) && overlap(access.range, known.range);
    });
  });
  if (needed) since_.clear();
  since_.insert(since_.end(), accesses.begin(), accesses.end());
  return needed;
}

}  // namespace tenon::vulkan
