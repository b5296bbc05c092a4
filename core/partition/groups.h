// The graph with each claim merged into one point, to check that it has no cycles.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/graph.h"

namespace tenon::partition {

/// Calls visit(producer) for every node that `node` depends on, also through captures of its nested graphs.
template <class Visit>
void for_each_producer(const ir::Graph& graph, const ir::Node& node, Visit&& visit) {
  const auto see = [&](ir::ValueId id) {
    if (id == ir::kNone) return;
    const ir::Value& value = graph.value(id);
    if (value.producer != ir::kNone && !value.is_constant()) visit(value.producer);
  };
  for (const ir::ValueId id : node.inputs) see(id);
  for (const ir::Attribute& attribute : node.attributes) {
    for (const ir::GraphBox& body : attribute.graphs) {
      for (const ir::Capture& capture : body->captures()) see(capture.outer);
    }
  }
}

/// The graph after merging nodes into points. Points are dense numbers, so walks take linear time.
class PointGraph {
 public:
  /// `point_of`: per node id, a number below `points`; read for the nodes in `order` only.
  PointGraph(const ir::Graph& graph, const std::vector<ir::NodeId>& order,
             const std::vector<uint32_t>& point_of, uint32_t points);

  /// Per point: whether it is on a cycle, that is, a path leaves it and returns.
  std::vector<bool> on_cycles() const;
  /// Topological order of the points; of those that are ready, the one with the lowest `priority` first. Shorter
  /// than the number of points when there is a cycle.
  std::vector<uint32_t> sorted(const std::vector<uint32_t>& priority) const;

 private:
  uint32_t points_;
  std::vector<uint32_t> first_;  // per point: begin of its users in next_
  std::vector<uint32_t> next_;   // users
};

}  // namespace tenon::partition
