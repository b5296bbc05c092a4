// struct tenon_graph: a graph as a provider sees it, by index, built from ir::Graph.
//
// A view shows either the whole graph, for capability, with marks on the nodes that the provider must not claim;
// or the nodes of one claim, for compile, with the claim's inputs and outputs in the order that Run uses. Nodes
// are in topological order. The inputs of a body are its formal inputs, then its captures. Constants are never
// inputs. A graph in an attribute is a view of its own.
//
// A view borrows from the graph, which must not change while the view lives. Reading a view is thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "host/device/constant_pool.h"
#include "tenon/ep.h"

namespace tenon::runtime {

class GraphView;

/// The input of a view. Everything is borrowed.
struct GraphSource {
  const ir::Graph* graph = nullptr;
  const std::map<std::string, int64_t>* opset_imports = nullptr;
  ConstantPool* constants = nullptr;
  /// Tell which nodes get TENON_NODE_FUNCTION and TENON_NODE_CONTROL_FLOW. May be empty.
  std::function<bool(const ir::Node&)> is_function, is_control_flow;
  bool is_body = false;
  bool is_weighed = false;  // asks for all that the provider can run, worth it or not
};

/// The content of a compile view.
struct ClaimView {
  std::span<const ir::NodeId> nodes;  // in any order
  std::span<const ir::ValueId> inputs, outputs;
  /// Concrete types of values, for claims with static shapes. Null: use the types of the graph.
  const std::unordered_map<ir::ValueId, ir::Type>* types = nullptr;
};

}  // namespace tenon::runtime

/// Built once, then read only. Constants are an exception: they are looked up when first needed.
struct tenon_graph {
  struct NodeEntry {
    const tenon::ir::Node* node;
    tenon::ir::NodeId id;
    uint32_t flags;
    uint32_t first_input, first_output, first_capture;  // indices into `edges`
    uint32_t captures;
  };
  struct ValueEntry {
    const tenon::ir::Value* value;
    const tenon::ir::Type* type;
    tenon::ir::ValueId id;
    uint32_t flags, producer, consumers;
    uint32_t first_dim;  // index into `dims`
  };
  struct AttributeExtra {  // parts that ir::Attribute cannot give directly
    std::vector<tenon_str> strings;
    std::vector<tenon_tensor> tensors;
    std::vector<std::unique_ptr<tenon_graph>> graphs;
    std::vector<const tenon_graph*> graph_pointers;
  };

  tenon::runtime::GraphSource source;
  uint32_t flags = 0;
  std::vector<NodeEntry> nodes;
  std::vector<ValueEntry> values;
  std::vector<uint32_t> edges, inputs, outputs;
  std::vector<int64_t> dims;
  std::vector<tenon_opset> opsets;
  std::unordered_map<tenon::ir::ValueId, uint32_t> value_index;

  mutable std::mutex mutex;  // guards the members below
  mutable std::unordered_map<uint32_t, tenon::runtime::ConstantPtr> used_constants;  // by value index
  mutable std::unordered_map<const tenon::ir::Tensor*, tenon::runtime::ConstantPtr> attribute_constants;
  mutable std::unordered_map<const tenon::ir::Attribute*, std::unique_ptr<AttributeExtra>> extras;
};

namespace tenon::runtime {

class GraphView {
 public:
  /// Views the whole graph. `taken` tells which nodes the provider must not claim.
  static Result<GraphView> whole(const GraphSource& source, const std::function<bool(ir::NodeId)>& taken);
  /// Views the nodes of one claim. The cost depends on the size of the claim, not of the graph.
  static Result<GraphView> of_claim(const GraphSource& source, const ClaimView& claim);

  const tenon_graph* handle() const { return graph_.get(); }
  uint32_t node_count() const { return static_cast<uint32_t>(graph_->nodes.size()); }
  uint32_t value_count() const { return static_cast<uint32_t>(graph_->values.size()); }
  ir::NodeId node_id(uint32_t index) const { return graph_->nodes[index].id; }
  ir::ValueId value_id(uint32_t index) const { return graph_->values[index].id; }
  /// TENON_NO_INDEX when the value is not in the view.
  uint32_t index_of(ir::ValueId value) const;

  /// Call after compile: the constants that the provider read and did not consume. The program must keep them.
  std::vector<ConstantPtr> take_constants();

 private:
  std::unique_ptr<tenon_graph> graph_;
};

// Functions for the host's table.
tenon_status graph_info(const tenon_graph* graph, tenon_graph_info* out_info) noexcept;
tenon_status graph_node(const tenon_graph* graph, uint32_t node, tenon_node_info* out_info) noexcept;
tenon_status graph_value(const tenon_graph* graph, uint32_t value, tenon_value_info* out_info) noexcept;
tenon_status graph_attribute(const tenon_graph* graph, uint32_t node, uint32_t index,
                             tenon_attribute* out_attribute) noexcept;
tenon_status graph_find_attribute(const tenon_graph* graph, uint32_t node, tenon_str name,
                                  tenon_attribute* out_attribute) noexcept;
tenon_status graph_constant(const tenon_graph* graph, uint32_t value, tenon_tensor* out_tensor) noexcept;
tenon_status graph_constant_consumed(const tenon_graph* graph, uint32_t value) noexcept;

}  // namespace tenon::runtime
