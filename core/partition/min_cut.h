// The cheapest cut of a directed graph between a source and a sink, found as the largest flow between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::partition {

/// Fills shortest paths (Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation",
/// 1970) and keeps the distances up to date on the way (Ahuja and Orlin, "Distance-directed augmenting path algorithms for
/// maximum flow and parametric maximum flow problems", 1991). Takes no recursion, so that long graphs do not overflow
/// the stack. Not thread-safe.
class MinCut {
 public:
  static constexpr uint32_t kSource = 0, kSink = 1;
  /// More than any cut may cost. Larger capacities count as this one.
  static constexpr int64_t kUnlimited = INT64_MAX / 4;

  /// `nodes`: how many there are at first, with the source and the sink.
  explicit MinCut(uint32_t nodes = 2) : first_(nodes, kNone) {}

  /// Adds one node and returns its number.
  uint32_t add_node();
  /// A cut with `from` on the source's side and `to` on the sink's pays `capacity`; the other way around it pays `back`.
  /// Both are 0 or more. The nodes exist and differ.
  void add_edge(uint32_t from, uint32_t to, int64_t capacity, int64_t back = 0);

  /// Per node, whether it is on the source's side of a cheapest cut. Each node of `wanted` that can be there in any
  /// cheapest cut is there, and besides no node that could be on the sink's side. The result depends only on the edges,
  /// their order and the arguments. Call it once.
  std::vector<bool> source_side(std::span<const uint32_t> wanted = {});

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Edge {  // the edge in the opposite direction has the number with the lowest bit flipped
    uint32_t to, next;
    int64_t left;  // capacity that no flow uses yet
  };

  bool measure();
  size_t send(const std::vector<uint32_t>& path);
  void fill();

  std::vector<uint32_t> first_;  // per node: its first edge
  std::vector<Edge> edges_;
  std::vector<uint32_t>
      distance_;  // per node: edges to the sink with capacity left; kNone: the sink is out of reach
};

}  // namespace tenon::partition
