// The graph functions of the host's table.
#include <algorithm>
#include <cstring>

#include "ep-sdk/cts/host_table.h"

namespace tenon::cts {
namespace {

tenon_str to_str(const std::string& s) { return {s.data(), s.size()}; }
std::string text(tenon_str s) { return std::string(s.data, s.size); }

/// Writes as much of `full` as fits into the caller's struct.
template <class Info>
tenon_status fill(Info* out, Info full, const char* function) {
  const uint32_t size = out->struct_size;
  if (size < 8) {
    host_state().violate(11, std::string(function) + " is called with a struct whose struct_size is not set");
    return TENON_INVALID_ARGUMENT;
  }
  full.struct_size = size;
  std::memcpy(static_cast<void*>(out), &full, std::min<size_t>(size, sizeof full));
  return TENON_OK;
}

bool usable(const tenon_graph* graph, const char* function) {
  if (graph == nullptr || !graph->ended) return graph != nullptr;
  host_state().violate(14, std::string(function) + " is called with a graph after the call that lent it");
  return false;
}

tenon_status graph_info(const tenon_graph* graph, tenon_graph_info* out) {
  if (!usable(graph, "graph_info")) return TENON_INVALID_ARGUMENT;
  tenon_graph_info info{};
  info.flags = graph->flags;
  info.node_count = static_cast<uint32_t>(graph->nodes.size());
  info.value_count = static_cast<uint32_t>(graph->values.size());
  info.input_count = static_cast<uint32_t>(graph->inputs.size());
  info.output_count = static_cast<uint32_t>(graph->outputs.size());
  info.inputs = graph->inputs.data();
  info.outputs = graph->outputs.data();
  info.name = {"test", 4};
  info.opsets = graph->opsets.data();
  info.opset_count = static_cast<uint32_t>(graph->opsets.size());
  return fill(out, info, "graph_info");
}

tenon_status graph_node(const tenon_graph* graph, uint32_t node, tenon_node_info* out) {
  if (!usable(graph, "graph_node") || node >= graph->nodes.size()) return TENON_INVALID_ARGUMENT;
  const tenon_graph::Node& from = graph->nodes[node];
  tenon_node_info info{};
  info.flags = from.in_case->taken ? TENON_NODE_TAKEN : 0;
  info.name = to_str(from.name);
  info.domain = to_str(from.domain);
  info.op_type = to_str(from.op_type);
  info.overload = {"", 0};
  info.since_version = from.in_case->since_version;
  info.attribute_count = static_cast<uint32_t>(from.attributes.size());
  info.inputs = from.inputs.data();
  info.outputs = from.outputs.data();
  info.input_count = static_cast<uint32_t>(from.inputs.size());
  info.output_count = static_cast<uint32_t>(from.outputs.size());
  return fill(out, info, "graph_node");
}

tenon_status graph_value(const tenon_graph* graph, uint32_t value, tenon_value_info* out) {
  if (!usable(graph, "graph_value") || value >= graph->values.size()) return TENON_INVALID_ARGUMENT;
  return fill(out, graph->values[value].info, "graph_value");
}

tenon_status graph_attribute(const tenon_graph* graph, uint32_t node, uint32_t index, tenon_attribute* out) {
  if (!usable(graph, "graph_attribute") || node >= graph->nodes.size()) return TENON_INVALID_ARGUMENT;
  if (index >= graph->nodes[node].attributes.size()) return TENON_INVALID_ARGUMENT;
  return fill(out, graph->nodes[node].attributes[index], "graph_attribute");
}

tenon_status graph_find_attribute(const tenon_graph* graph, uint32_t node, tenon_str name,
                                  tenon_attribute* out) {
  if (!usable(graph, "graph_find_attribute") || node >= graph->nodes.size()) return TENON_INVALID_ARGUMENT;
  for (const tenon_attribute& attribute : graph->nodes[node].attributes) {
    if (text(attribute.name) == text(name)) return fill(out, attribute, "graph_find_attribute");
  }
  return TENON_NOT_FOUND;
}

tenon_status graph_constant(const tenon_graph* graph, uint32_t value, tenon_tensor* out) {
  if (!usable(graph, "graph_constant") || value >= graph->values.size()) return TENON_INVALID_ARGUMENT;
  if ((graph->values[value].info.flags & TENON_VALUE_CONSTANT) == 0) return TENON_INVALID_ARGUMENT;
  *out = graph->values[value].constant;
  return TENON_OK;
}

tenon_status graph_constant_consumed(const tenon_graph* graph, uint32_t value) {
  if (!usable(graph, "graph_constant_consumed") || value >= graph->values.size())
    return TENON_INVALID_ARGUMENT;
  const_cast<tenon_graph*>(graph)->consumed.insert(value);
  return TENON_OK;
}

}  // namespace

void add_graph_functions(tenon_host_api* table) {
  table->graph_info = graph_info;
  table->graph_node = graph_node;
  table->graph_value = graph_value;
  table->graph_attribute = graph_attribute;
  table->graph_find_attribute = graph_find_attribute;
  table->graph_constant = graph_constant;
  table->graph_constant_consumed = graph_constant_consumed;
}

}  // namespace tenon::cts
