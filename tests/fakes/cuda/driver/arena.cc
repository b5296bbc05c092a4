#include "arena.h"

#include <algorithm>
#include <bit>

namespace fake_cuda {

void Arena::reset(uint64_t bytes) { end_ = bytes; }

uint64_t Arena::take(uint64_t bytes) {
  const uint64_t size = std::bit_ceil(std::max<uint64_t>(bytes, 64));
  std::vector<uint64_t>& free = free_[size];
  uint64_t place = 0;
  if (!free.empty()) {
    place = free.back();
    free.pop_back();
  } else if (size <= end_ && next_ <= end_ - size) {
    place = next_;
    next_ += size;
  } else {
    return 0;
  }
  taken_[place] = size;
  return place;
}

void Arena::give_back(uint64_t place) {
  const auto found = taken_.find(place);
  if (found == taken_.end()) return;
  free_[found->second].push_back(place);
  taken_.erase(found);
}

}  // namespace fake_cuda
