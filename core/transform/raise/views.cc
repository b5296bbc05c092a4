#include "core/transform/raise/views.h"

#include <algorithm>

namespace tenon::transform {

std::string view_prefix(std::string_view node) { return str_cat(node, "/view"); }

bool takes_any_dims(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Reshape") || node.inputs.size() != 2) return false;
  const auto shape = ints_of(graph, node, "shape", 1);
  // 0 stands for a dimension of the input.
  return shape && std::find(shape->begin(), shape->end(), 0) == shape->end();
}

ir::NodeId view_of(const ir::Graph& graph, ir::ValueId value, std::string_view owner) {
  const ir::NodeId id = value == ir::kNone ? ir::kNone : graph.value(value).producer;
  if (id == ir::kNone || !graph.node(id).is("Reshape")) return ir::kNone;
  return graph.node(id).name.rfind(view_prefix(owner), 0) == 0 ? id : ir::kNone;
}

bool may_skip_view(const ir::Graph& graph, ir::ValueId value) {
  const ir::Value& v = graph.value(value);
  return v.output_count == 0 && std::all_of(v.uses.begin(), v.uses.end(), [&](const ir::Use& use) {
           return use.input == 0 && takes_any_dims(graph, graph.node(use.node));
         });
}

bool is_view(const ir::Node& raised, const ir::Node& part) {
  return part.is("Reshape") && part.name.rfind(view_prefix(raised.name), 0) == 0;
}

}  // namespace tenon::transform
