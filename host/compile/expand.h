// Expands nodes that no provider claims: calls of functions, operators that ONNX defines by a function body, fused
// operators that ONNX's own operators can express, and operators that a transform raised.
//
// What was lowered is not raised again. Transforms that raise run only after calls of the model's own functions were
// inlined, because these may hold patterns that nobody has seen. Calls are expanded before all else, and a transform
// whose operator was put back stays off, so that expansion ends.
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
  /// `model` is borrowed. `node_limit`: the most nodes that an expanded graph may have, nested graphs included.
  Expander(const ir::ModelInfo& model, transform::Options transforms, int64_t node_limit);

  /// Whether `node` can be expanded, as far as is known before trying.
  bool can_expand(const ir::Node& node) const;
  /// True for a call of a function of the model. No provider can know such an operator.
  bool is_call(const ir::Node& node) const;
  /// Expands what it can of `nodes`, infers types again and simplifies the result. Returns the number of expanded
  /// nodes. A node that cannot be expanded is not tried again. LIMIT_EXCEEDED when the graph grows beyond the limit.
  Result<size_t> expand(ir::Graph* graph, const std::vector<ir::NodeId>& nodes);
  /// Puts raised nodes back into the nodes that they stand for, and simplifies the result.
  Status put_back(ir::Graph* graph, const std::vector<ir::NodeId>& nodes);
  /// Why a node could not be expanded; empty for nodes that were not tried.
  std::string why_not(ir::NodeId id) const;

 private:
  Status expand_one(ir::Graph* graph, ir::NodeId id);
  void put_back_one(ir::Graph* graph, ir::NodeId id);
  Status simplify(ir::Graph* graph, bool raise);

  const ir::ModelInfo& model_;
  transform::Options transforms_;
  int64_t node_limit_;
  std::map<ir::NodeId, std::string> hopeless_;  // with the reason
};

/// Nodes of a graph and of all graphs nested in it.
int64_t count_nodes(const ir::Graph& graph);

}  // namespace tenon::runtime
