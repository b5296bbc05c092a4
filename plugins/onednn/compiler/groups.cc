#include "compiler/groups.h"

#include <algorithm>
#include <numeric>

namespace tenon::onednn {
namespace {

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;
constexpr size_t kMostSetsToJoin = 512;

/// Per node: how often a path to it changes between nodes that can run here and others, at most. Between two
/// nodes of one level and one kind, no path leaves that kind.
std::vector<uint32_t> levels(const std::vector<bool>& can, const Edges& sorted_by_target) {
  std::vector<uint32_t> out(can.size(), 0);
  for (const auto& edge : sorted_by_target) {
    const uint32_t change = can[edge.first] != can[edge.second] ? 1 : 0;
    out[edge.second] = std::max(out[edge.second], out[edge.first] + change);
  }
  return out;
}

/// Union-find.
class Sets {
 public:
  explicit Sets(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0u); }
  uint32_t find(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(uint32_t a, uint32_t b) { parent_[std::max(find(a), find(b))] = std::min(find(a), find(b)); }

 private:
  std::vector<uint32_t> parent_;
};

/// The graph with each set contracted to one node.
class Condensed {
 public:
  Condensed(Sets& sets, const Edges& edges, size_t nodes) : next_(nodes) {
    for (const auto& edge : edges) {
      const uint32_t from = sets.find(edge.first), to = sets.find(edge.second);
      if (from != to) next_[from].push_back(to);
    }
    for (auto& targets : next_) {
      std::sort(targets.begin(), targets.end());
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    }
  }
  /// Whether a path other than the direct edge leads from `from` to `to`.
  bool has_detour(uint32_t from, uint32_t to) const {
    std::vector<bool> seen(next_.size(), false);
    std::vector<uint32_t> open;
    for (const uint32_t n : next_[from]) {
      if (n != to) open.push_back(n);
    }
    while (!open.empty()) {
      const uint32_t n = open.back();
      open.pop_back();
      if (n == to) return true;
      if (seen[n]) continue;
      seen[n] = true;
      open.insert(open.end(), next_[n].begin(), next_[n].end());
    }
    return false;
  }

 private:
  std::vector<std::vector<uint32_t>> next_;
};

/// Joins two sets with an edge between them if that makes no cycle. Returns whether it joined any.
bool join_one(Sets& sets, const std::vector<bool>& can, const Edges& edges) {
  const Condensed graph(sets, edges, can.size());
  for (const auto& edge : edges) {
    const uint32_t from = sets.find(edge.first), to = sets.find(edge.second);
    if (from == to || !can[edge.first] || !can[edge.second] || graph.has_detour(from, to)) continue;
    sets.join(from, to);
    return true;
  }
  return false;
}

std::vector<std::vector<uint32_t>> collect(Sets& sets, const std::vector<bool>& can) {
  std::vector<std::vector<uint32_t>> by_root(can.size()), out;
  for (uint32_t n = 0; n < can.size(); ++n) {
    if (can[n]) by_root[sets.find(n)].push_back(n);
  }
  for (auto& nodes : by_root) {
    if (!nodes.empty()) out.push_back(std::move(nodes));
  }
  return out;
}

}  // namespace

std::vector<std::vector<uint32_t>> group(const std::vector<bool>& can, const Edges& edges) {
  Edges sorted = edges;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::vector<uint32_t> level = levels(can, sorted);
  Sets sets(can.size());
  for (const auto& edge : sorted) {
    if (can[edge.first] && can[edge.second] && level[edge.first] == level[edge.second])
      sets.join(edge.first, edge.second);
  }
  const size_t count = collect(sets, can).size();
  if (count <= kMostSetsToJoin && can.size() <= 20 * kMostSetsToJoin) {
    for (size_t i = 0; i < count && join_one(sets, can, sorted); ++i) {
    }
  }
  return collect(sets, can);
}

}  // namespace tenon::onednn
