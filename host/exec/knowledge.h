// What planning knows about the values of a graph for one shape signature: their types with all known dims, and
// the values of small tensors that can be computed from shapes and constants.
//
// Used for a whole graph when a plan is made, and for a dynamic step during a Run.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace tenon::runtime {

/// Larger tensors are not used in shape arithmetic.
inline constexpr int64_t kMaxKnownElements = 4096;

class Knowledge {
 public:
  /// `graph` is borrowed. Its constants are known from the start.
  explicit Knowledge(const ir::Graph& graph) : graph_(&graph) {}

  /// The type that was set, else the graph's own.
  const ir::Type& type(ir::ValueId value) const;
  void set_type(ir::ValueId value, ir::Type type) { types_[value] = std::move(type); }
  /// Null when the value is not known.
  ir::TensorPtr value(ir::ValueId value) const;
  void set_value(ir::ValueId value, ir::TensorPtr tensor);

  /// True for a tensor whose dims are all known, and for other known kinds of values, which have no dims.
  bool shape_known(ir::ValueId value) const;

  /// Infers the outputs of `nodes`, given in topological order, and merges them with the graph's types. Nodes with
  /// nested graphs keep the graph's types. Errors name the node.
  Status infer(std::span<const ir::NodeId> nodes);

  const ir::Graph& graph() const { return *graph_; }

 private:
  Status infer_node(const ir::Node& node);
  bool unchanged(const ir::Node& node) const;

  const ir::Graph* graph_;
  std::unordered_map<ir::ValueId, ir::Type> types_;
  std::unordered_map<ir::ValueId, ir::TensorPtr> values_;
};

}  // namespace tenon::runtime
