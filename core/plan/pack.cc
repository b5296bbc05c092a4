#include "core/plan/pack.h"

#include <algorithm>
#include <bit>
#include <map>

namespace tenon::plan {
namespace {

uint64_t align_up(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) & ~(alignment - 1); }

/// With more neighbours than this, a block goes above all of them: searching for a gap would take too long.
constexpr size_t kMostNeighbours = 2048;

/// The blocks placed so far, indexed by the steps of their lives.
class Timeline {
 public:
  explicit Timeline(uint32_t steps)
      : first_leaf_(std::bit_ceil(std::max(steps, 1u))), nodes_(size_t{2} * first_leaf_) {}

  void add(uint32_t block, uint32_t begin, uint32_t last) {
    begins_.emplace(begin, block);
    uint32_t left = first_leaf_ + begin, right = first_leaf_ + last + 1;
    for (; left < right; left /= 2, right /= 2) {
      if (left % 2 != 0) nodes_[left++].push_back(block);
      if (right % 2 != 0) nodes_[--right].push_back(block);
    }
  }

  /// Blocks that are alive in a step of [begin, last], each once. Stops after kMostNeighbours, so the list may be
  /// incomplete then.
  void find(uint32_t begin, uint32_t last, std::vector<uint32_t>* out) const {
    out->clear();
    for (uint32_t node = first_leaf_ + begin; node != 0; node /= 2) {
      out->insert(out->end(), nodes_[node].begin(), nodes_[node].end());
      if (out->size() > kMostNeighbours) return;
    }
    for (auto at = begins_.upper_bound(begin); at != begins_.end() && at->first <= last; ++at) {
      out->push_back(at->second);
      if (out->size() > kMostNeighbours) return;
    }
  }

 private:
  uint32_t first_leaf_;
  std::vector<std::vector<uint32_t>>
      nodes_;  // binary tree over the steps; a block is stored at nodes whose steps it covers
  std::multimap<uint32_t, uint32_t> begins_;  // first step -> block
};

/// One slab under construction.
struct OpenSlab {
  DomainIndex domain;
  uint64_t bytes = 0;
  Timeline placed;
};

class Packer {
 public:
  Packer(const std::vector<Block>& blocks, const std::vector<Domain>& domains)
      : blocks_(blocks), domains_(domains) {
    result_.places.resize(blocks.size());
  }

  Packing run() {
    for (const Block& block : blocks_) steps_ = std::max(steps_, last_step(block) + 1);
    for (uint32_t b : largest_first()) place(b);
    for (size_t s = 0; s < open_.size(); ++s) result_.slabs[s].bytes = open_[s].bytes;
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
    open_.push_back({block.domain, 0, Timeline(steps_)});
    result_.slabs.push_back({block.domain, 0});
    put(b, static_cast<uint32_t>(open_.size() - 1), 0);
  }

  static uint32_t last_step(const Block& block) { return std::max(block.life.end, block.life.free_after); }

  uint64_t lowest_offset(const OpenSlab& slab, const Block& block, uint64_t alignment) {
    slab.placed.find(block.life.begin, last_step(block), &neighbours_);
    if (neighbours_.size() > kMostNeighbours) return align_up(slab.bytes, alignment);
    std::sort(neighbours_.begin(), neighbours_.end(),
              [&](uint32_t a, uint32_t b) { return result_.places[a].offset < result_.places[b].offset; });
    uint64_t offset = 0;
    for (uint32_t other : neighbours_) {
      if (may_share(blocks_[other].life, block.life)) continue;
      const uint64_t begin = result_.places[other].offset;
      if (offset + block.bytes <= begin) break;
      offset = std::max(offset, align_up(begin + blocks_[other].bytes, alignment));
    }
    return offset;
  }

  void put(uint32_t b, uint32_t s, uint64_t offset) {
    result_.places[b] = {s, offset};
    open_[s].bytes = std::max(open_[s].bytes, offset + blocks_[b].bytes);
    open_[s].placed.add(b, blocks_[b].life.begin, last_step(blocks_[b]));
  }

  const std::vector<Block>& blocks_;
  const std::vector<Domain>& domains_;
  uint32_t steps_ = 0;
  std::vector<OpenSlab> open_;
  std::vector<uint32_t> neighbours_;
  Packing result_;
};

}  // namespace

Packing pack(const std::vector<Block>& blocks, const std::vector<Domain>& domains) {
  return Packer(blocks, domains).run();
}

}  // namespace tenon::plan
