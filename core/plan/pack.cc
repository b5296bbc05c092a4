#include "core/plan/pack.h"

#include <algorithm>
#include <numeric>

namespace tenon::plan {
namespace {

uint64_t align_up(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) & ~(alignment - 1); }

/// One slab under construction: the blocks placed so far, by offset.
struct OpenSlab {
  DomainIndex domain;
  std::vector<uint32_t> placed;
};

class Packer {
 public:
  Packer(const std::vector<Block>& blocks, const std::vector<Domain>& domains)
      : blocks_(blocks), domains_(domains) {
    result_.places.resize(blocks.size());
  }

  Packing run() {
    for (uint32_t b : largest_first()) place(b);
    for (size_t s = 0; s < open_.size(); ++s) {
      for (uint32_t b : open_[s].placed) {
        result_.slabs[s].bytes =
            std::max(result_.slabs[s].bytes, result_.places[b].offset + blocks_[b].bytes);
      }
    }
    return std::move(result_);
  }

 private:
  std::vector<uint32_t> largest_first() const {
    std::vector<uint32_t> order;
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      if (blocks_[b].bytes != 0) order.push_back(b);
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
      if (blocks_[x].bytes != blocks_[y].bytes) return blocks_[x].bytes > blocks_[y].bytes;
      return blocks_[x].life.begin < blocks_[y].life.begin;
    });
    return order;
  }

  void place(uint32_t b) {
    const Block& block = blocks_[b];
    const Domain& domain = domains_[block.domain];
    for (uint32_t s = 0; s < open_.size(); ++s) {
      if (open_[s].domain != block.domain) continue;
      const uint64_t offset = lowest_offset(open_[s], block, domain.alignment);
      if (domain.max_slab_bytes != 0 && offset + block.bytes > domain.max_slab_bytes) continue;
      return put(b, s, offset);
    }
    open_.push_back({block.domain, {}});
    result_.slabs.push_back({block.domain, 0});
    put(b, static_cast<uint32_t>(open_.size() - 1), 0);
  }

  uint64_t lowest_offset(const OpenSlab& slab, const Block& block, uint64_t alignment) const {
    uint64_t offset = 0;
    for (uint32_t other : slab.placed) {  // ascending offsets
      if (may_share(blocks_[other].life, block.life)) continue;
      const uint64_t begin = result_.places[other].offset;
      if (offset + block.bytes <= begin) break;
      offset = std::max(offset, align_up(begin + blocks_[other].bytes, alignment));
    }
    return offset;
  }

  void put(uint32_t b, uint32_t s, uint64_t offset) {
    result_.places[b] = {s, offset};
    std::vector<uint32_t>& placed = open_[s].placed;
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset, [&](uint64_t o, uint32_t other) {
      return o < result_.places[other].offset;
    });
    placed.insert(at, b);
  }

  const std::vector<Block>& blocks_;
  const std::vector<Domain>& domains_;
  std::vector<OpenSlab> open_;
  Packing result_;
};

}  // namespace

Packing pack(const std::vector<Block>& blocks, const std::vector<Domain>& domains) {
  return Packer(blocks, domains).run();
}

}  // namespace tenon::plan
