// Expanding nodes that nobody claims: calls of functions, operators that ONNX defines by a body, fused
// operators that have a form in ONNX's own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/transform/transform.h"

namespace tenon::runtime {

class Expander {
 public:
  /// `model` is borrowed. `node_limit`: of one graph after expansion.
  Expander(const ir::ModelInfo& model, transform::Options transforms, int64_t node_limit);

  /// Whether `node` has a form to expand to, as far as one can tell before trying.
  bool can_expand(const ir::Node& node) const;
  /// A call of a function of the model, which is no operator that a provider could know.
  bool is_call(const ir::Node& node) const;
  /// Expands what it can of `nodes`, infers types again and simplifies the result. Gives the number of
  /// expanded nodes; a node that turns out to have no form is left and not tried again. LIMIT_EXCEEDED when
  /// the graph grows beyond the limit.
  Result<size_t> expand(ir::Graph* graph, const std::vector<ir::NodeId>& nodes);
  /// Why a node that was tried has no form to expand to; empty for others.
  std::string why_not(ir::NodeId id) const;

 private:
  Status expand_one(ir::Graph* graph, ir::NodeId id);

  const ir::ModelInfo& model_;
  transform::Options transforms_;
  int64_t node_limit_;
  std::map<ir::NodeId, std::string> hopeless_;  // with the reason
};

/// Nodes of a graph and of all graphs nested in it.
int64_t count_nodes(const ir::Graph& graph);

}  // namespace tenon::runtime
