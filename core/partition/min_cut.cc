#include "core/partition/min_cut.h"

#include <algorithm>

namespace tenon::partition {

uint32_t MinCut::add_node() {
  first_.push_back(kNone);
  return static_cast<uint32_t>(first_.size() - 1);
}

void MinCut::add_edge(uint32_t from, uint32_t to, int64_t capacity, int64_t back) {
  if (capacity == 0 && back == 0) return;
  const auto number = static_cast<uint32_t>(edges_.size());
  edges_.push_back({to, first_[from], std::min(capacity, kUnlimited)});
  edges_.push_back({from, first_[to], std::min(back, kUnlimited)});
  first_[from] = number;
  first_[to] = number + 1;
}

/// Sets distance_. False when no flow can be added.
bool MinCut::measure() {
  distance_.assign(first_.size(), kNone);
  distance_[kSink] = 0;
  std::vector<uint32_t> queue = {kSink};
  for (size_t i = 0; i < queue.size(); ++i) {
    const uint32_t node = queue[i];
    for (uint32_t e = first_[node]; e != kNone; e = edges_[e].next) {
      const uint32_t from = edges_[e].to;
      if (edges_[e ^ 1].left == 0 || distance_[from] != kNone) continue;
      distance_[from] = distance_[node] + 1;
      queue.push_back(from);
    }
  }
  return distance_[kSource] != kNone;
}

/// Sends as much along `path` as its edges have left. Returns how many edges are before the first one that is full now.
size_t MinCut::send(const std::vector<uint32_t>& path) {
  int64_t flow = INT64_MAX;
  for (const uint32_t e : path) flow = std::min(flow, edges_[e].left);
  size_t full = path.size();
  for (size_t i = path.size(); i-- > 0;) {
    edges_[path[i]].left -= flow;
    edges_[path[i] ^ 1].left += flow;
    if (edges_[path[i]].left == 0) full = i;
  }
  return full;
}

/// Sends flow along shortest paths. distance_ is a lower bound from here on; it rises where a node has no edge left to a
/// nearer one. Ends when there is no path, or when so many distances rose that measuring all again is worth it.
void MinCut::fill() {
  std::vector<uint32_t> at = first_;  // per node: no edge before this one leads to a nearer node
  std::vector<uint32_t> path;         // edges from the source to `node`
  std::vector<uint32_t> with(first_.size() + 1, 0);  // per distance: how many nodes have it
  for (const uint32_t distance : distance_) ++with[std::min<size_t>(distance, first_.size())];
  uint32_t node = kSource;
  for (size_t raised = 0; raised < first_.size();) {
    if (node == kSink) {
      const size_t kept = send(path);
      node = edges_[path[kept] ^ 1].to;
      path.resize(kept);
      continue;
    }
    uint32_t& e = at[node];
    while (e != kNone && (edges_[e].left == 0 || distance_[node] != distance_[edges_[e].to] + 1)) {
      e = edges_[e].next;
    }
    if (e != kNone) {
      path.push_back(e);
      node = edges_[e].to;
      continue;
    }
    // Without another node at this distance, no path from the source comes nearer to the sink.
    if (--with[distance_[node]] == 0) return;
    uint32_t nearest = kNone - 1;
    for (e = first_[node]; e != kNone; e = edges_[e].next) {
      if (edges_[e].left != 0) nearest = std::min(nearest, distance_[edges_[e].to]);
    }
    ++raised;
    e = first_[node];
    distance_[node] = nearest + 1;
    ++with[std::min<size_t>(distance_[node], first_.size())];
    if (node == kSource) {
      if (distance_[node] >= first_.size()) return;
    } else {
      node = edges_[path.back() ^ 1].to;
      path.pop_back();
    }
  }
}

std::vector<bool> MinCut::source_side(std::span<const uint32_t> wanted) {
  while (measure()) fill();
  // An edge with capacity left does not go from the source's side to the sink's. A node that cannot reach the sink may be
  // on the source's side, with all that it reaches.
  std::vector<bool> side(first_.size(), false);
  std::vector<uint32_t> queue = {kSource};
  side[kSource] = true;
  for (const uint32_t node : wanted) {
    if (distance_[node] != kNone || side[node]) continue;
    side[node] = true;
    queue.push_back(node);
  }
  for (size_t i = 0; i < queue.size(); ++i) {
    for (uint32_t e = first_[queue[i]]; e != kNone; e = edges_[e].next) {
      if (edges_[e].left == 0 || side[edges_[e].to]) continue;
      side[edges_[e].to] = true;
      queue.push_back(edges_[e].to);
    }
  }
  return side;
}

}  // namespace tenon::partition
