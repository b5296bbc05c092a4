// ir::Graph -> GraphProto.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/proto/pb.h"

namespace tenon::onnx {

/// Writes one graph. ONNX wants value names unique over nested graphs, here they are unique within one graph. A
/// nested value whose name an outer graph uses gets a new name.
class GraphWriter {
 public:
  /// `outer`: the writer of the outer graph, or null.
  GraphWriter(const ir::Graph& graph, const GraphWriter* outer);

  /// `constants_are_inputs`: also lists initializers as inputs, as files before IR version 4 do.
  void write(pb::GraphProto* out, bool constants_are_inputs) const;
  /// Writes constants as Constant nodes, because a function has no initializers.
  void write_function_body(pb::FunctionProto* out) const;
  /// The attribute of a node of this graph; its nested graphs capture from this graph.
  void write_attribute(const ir::Attribute& attribute, pb::AttributeProto* out) const;

 private:
  template <class Proto>
  void write_nodes(Proto* out) const;
  template <class Proto>
  void write_value_types(Proto* out) const;
  void write_node(const ir::Node& node, pb::NodeProto* out) const;
  void write_constant_node(ir::ValueId id, pb::NodeProto* out) const;
  bool is_constant_node(ir::ValueId id) const;
  bool is_taken_around(const std::string& name) const;
  const std::string& name_of(ir::ValueId id) const;

  const ir::Graph& graph_;
  const GraphWriter* outer_;
  std::vector<std::string> names_;  // by value id
  std::set<std::string, std::less<>> used_;
};

}  // namespace tenon::onnx
