// Which nodes of a graph may be claimed together: the grouping of a provider that compiles several nodes to one program.
//
//   std::vector<bool> can(graph.info().node_count);   // true: the provider can run the node, and it is not taken
//   for (const std::vector<uint32_t>& nodes : convex_groups(graph, can)) claim_nodes(sink, nodes);
#ifndef TENON_EP_GROUPS_HPP_
#define TENON_EP_GROUPS_HPP_

#include <algorithm>
#include <numeric>
#include <utility>

#include "tenon/ep/graph.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// For each node, the nodes that make its inputs and captures. They come before it: a host lists nodes in an order in
/// which they can run.
using Producers = std::vector<std::vector<uint32_t>>;

inline Producers producers_of(const GraphView& graph) {
  Producers out(graph.info().node_count);
  for (uint32_t n = 0; n < graph.info().node_count; ++n) {
    const tenon_node_info node = graph.node(n);
    const auto add = [&](const uint32_t* values, uint32_t count) {
      for (uint32_t i = 0; i < count; ++i) {
        if (values[i] == TENON_NO_INDEX) continue;
        const uint32_t producer = graph.value(values[i]).producer;
        if (producer != TENON_NO_INDEX) out[n].push_back(producer);
      }
    };
    add(node.inputs, node.input_count);
    add(node.captures, node.capture_count);
  }
  return out;
}

namespace detail {

/// Groups of nodes that grow. With each group taken as one node, the graph never has a cycle; so no path leaves a group
/// and returns (R25), and groups do not depend on each other in a circle (R26).
class GrowingGroups {
 public:
  explicit GrowingGroups(const Producers& producers)
      : producers_(producers), group_(producers.size()), seen_(producers.size(), 0) {
    std::iota(group_.begin(), group_.end(), 0u);
    members_.reserve(producers.size());
    for (uint32_t n = 0; n < producers.size(); ++n) members_.push_back({n});
  }

  uint32_t of(uint32_t node) const { return group_[node]; }
  const std::vector<uint32_t>& members(uint32_t group) const { return members_[group]; }

  /// Puts group `from` and group `to`, which reads a result of it, together, unless that makes a cycle. True if it did.
  bool join(uint32_t from, uint32_t to) {
    if (from == to || is_between(from, to)) return false;
    if (members_[from].size() < members_[to].size()) std::swap(from, to);
    std::vector<uint32_t>& all = members_[from];
    const auto middle = static_cast<std::ptrdiff_t>(all.size());
    for (const uint32_t n : members_[to]) group_[n] = from;
    all.insert(all.end(), members_[to].begin(), members_[to].end());
    if (*(all.begin() + middle - 1) > *(all.begin() + middle))
      std::inplace_merge(all.begin(), all.begin() + middle, all.end());
    members_[to].clear();
    return true;
  }

 private:
  /// Edges that are looked at before groups stop growing: half a second. Nets of many thousands of nodes stay far below;
  /// only a graph with as many edges over its whole length exceeds it.
  static constexpr uint64_t kMostEdges = uint64_t{1} << 26;

  /// Whether a path leads from group `from` over another group to group `to`. Looks backwards from `to`, as far as groups
  /// that end before `from` begins.
  bool is_between(uint32_t from, uint32_t to) {
    if (looked_at_ > kMostEdges) return true;
    ++round_;
    std::vector<uint32_t> open;
    const auto look_before = [&](uint32_t group, bool first) {
      for (const uint32_t n : members_[group]) {
        for (const uint32_t producer : producers_[n]) {
          ++looked_at_;
          const uint32_t before = group_[producer];
          if (before == group || before == to) continue;
          if (before == from && !first) return true;
          if (before == from || seen_[before] == round_) continue;
          seen_[before] = round_;
          if (members_[before].back() > members_[from].front()) open.push_back(before);
        }
      }
      return false;
    };
    look_before(to, true);
    while (!open.empty()) {
      const uint32_t group = open.back();
      open.pop_back();
      if (look_before(group, false)) return true;
    }
    return false;
  }

  const Producers& producers_;
  std::vector<uint32_t> group_;                 // of each node
  std::vector<std::vector<uint32_t>> members_;  // of each group, rising; empty: joined to another
  std::vector<uint64_t> seen_;                  // round in which a group was seen
  uint64_t round_ = 0, looked_at_ = 0;
};

}  // namespace detail

/// Groups of connected nodes for which `can` is true, each in one group. Every group is convex, and the groups do not
/// depend on each other in a circle. A node joins the groups of its producers in their order wherever that keeps both
/// true, so no two groups are left that could be one, except in a graph where looking for them takes very long. No group
/// has more than `most` nodes; 0: no limit. Nodes of a group rise; groups are ordered by their first node. The same graph
/// gives the same groups (R21). Takes time in proportion to the edges, times the groups between those that are joined.
inline std::vector<std::vector<uint32_t>> convex_groups(const Producers& producers,
                                                        const std::vector<bool>& can, size_t most = 0) {
  detail::GrowingGroups groups(producers);
  const auto join_all = [&] {
    bool joined = false;
    for (uint32_t n = 0; n < producers.size(); ++n) {
      if (!can[n]) continue;
      for (const uint32_t producer : producers[n]) {
        if (!can[producer]) continue;
        const uint32_t from = groups.of(producer), to = groups.of(n);
        if (most != 0 && groups.members(from).size() + groups.members(to).size() > most) continue;
        joined = groups.join(from, to) || joined;
      }
    }
    return joined;
  };
  while (join_all()) {  // what was between two groups may be part of one of them now
  }
  std::vector<std::vector<uint32_t>> out;
  for (uint32_t n = 0; n < producers.size(); ++n) {
    const std::vector<uint32_t>& members = groups.members(groups.of(n));
    if (can[n] && members.front() == n) out.push_back(members);
  }
  return out;
}

/// The same for the nodes of a host's graph.
inline std::vector<std::vector<uint32_t>> convex_groups(const GraphView& graph, const std::vector<bool>& can,
                                                        size_t most = 0) {
  return convex_groups(producers_of(graph), can, most);
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_GROUPS_HPP_
