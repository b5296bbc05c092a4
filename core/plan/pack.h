// Packing: places blocks of bytes with lives into slabs. The largest goes first, each at the lowest offset that is
// free during its life.
#pragma once

#include <vector>

#include "core/plan/alias.h"
#include "core/plan/plan.h"

namespace tenon::plan {

struct Block {
  DomainIndex domain = 0;
  uint64_t bytes = 0;
  Life life;
};

struct Packing {
  std::vector<Place> places;  // per block; slab kNone for a block of 0 bytes
  std::vector<Slab> slabs;
};

/// Every block must fit its domain's limit. Deterministic: of equal blocks the earlier goes first.
Packing pack(const std::vector<Block>& blocks, const std::vector<Domain>& domains);

}  // namespace tenon::plan
