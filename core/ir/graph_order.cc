#include <queue>

#include "core/ir/graph.h"

namespace tenon::ir {
namespace {

/// Calls `visit(user)` for every use of the node's outputs.
template <class Visit>
void for_each_user(const Graph& graph, NodeId id, Visit visit) {
  for (ValueId output : graph.node(id).outputs) {
    if (output == kNone) continue;
    for (const Use& use : graph.value(output).uses) visit(use.node);
  }
}

/// For each node, the number of its uses of produced values.
std::vector<uint32_t> count_waits(const Graph& graph, bool* out_ids_in_order) {
  std::vector<uint32_t> waits(graph.node_limit(), 0);
  *out_ids_in_order = true;
  for (NodeId id = 0; id < graph.node_limit(); ++id) {
    if (!graph.has_node(id)) continue;
    for_each_user(graph, id, [&](NodeId user) {
      ++waits[user];
      if (user <= id) *out_ids_in_order = false;
    });
  }
  return waits;
}

/// A node on a cycle: walks from a waiting node to a node that it waits for, until one comes up twice.
NodeId node_on_cycle(const Graph& graph, const std::vector<uint32_t>& waits) {
  std::vector<NodeId> blocker(graph.node_limit(), kNone);
  NodeId at = kNone;
  for (NodeId id = 0; id < graph.node_limit(); ++id) {
    if (waits[id] == 0) continue;
    at = id;
    for_each_user(graph, id, [&](NodeId user) { blocker[user] = id; });
  }
  std::vector<bool> seen(graph.node_limit(), false);
  while (!seen[at]) {
    seen[at] = true;
    at = blocker[at];
  }
  return at;
}

}  // namespace

Result<std::vector<NodeId>> Graph::topological_order() const {
  std::vector<NodeId> order;
  order.reserve(node_count_);
  bool ids_in_order = true;
  std::vector<uint32_t> waits = count_waits(*this, &ids_in_order);
  if (ids_in_order) {
    for (NodeId id = 0; id < node_limit(); ++id) {
      if (has_node(id)) order.push_back(id);
    }
    return order;
  }

  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id = 0; id < node_limit(); ++id) {
    if (has_node(id) && waits[id] == 0) ready.push(id);
  }
  while (!ready.empty()) {
    NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for_each_user(*this, id, [&](NodeId user) {
      if (--waits[user] == 0) ready.push(user);
    });
  }
  if (order.size() == node_count_) return order;
  NodeId culprit = node_on_cycle(*this, waits);
  return invalid_model(
             "the graph has a cycle: the node depends, directly or through other nodes, on its own output")
      .with_context(nodes_[culprit]->label());
}

}  // namespace tenon::ir
