// The graph functions of the host's table.
#include <algorithm>
#include <cstring>

#include "ep-sdk/cts/host_table.h"
#include "ep-sdk/cts/sha256.h"

namespace tenon::cts {
namespace {

tenon_str to_str(const std::string& s) { return {s.data(), s.size()}; }
std::string text(tenon_str s) { return std::string(s.data, s.size); }

tenon_status size_not_set(const std::string& function) {
  host_state().violate(11, function + " is called with a struct whose struct_size is not set");
  return TENON_INVALID_ARGUMENT;
}

/// Writes as much of `full` as fits into the caller's struct.
template <class Info>
tenon_status fill(Info* out, Info full, const char* function) {
  const uint32_t size = out->struct_size;
  if (size < 8) return size_not_set(function);
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
  if (const_cast<tenon_graph*>(graph)->consumed.erase(value) != 0 && host_state().protect_constants)
    graph->values[value].memory.protect(Access::kRead);
  *out = graph->values[value].constant;
  return TENON_OK;
}

tenon_status graph_constant_consumed(const tenon_graph* graph, uint32_t value) {
  if (!usable(graph, "graph_constant_consumed") || value >= graph->values.size())
    return TENON_INVALID_ARGUMENT;
  const_cast<tenon_graph*>(graph)->consumed.insert(value);
  if (host_state().protect_constants) graph->values[value].memory.protect(Access::kNone);
  return TENON_OK;
}

// ---- Names of constants and views ----

/// The bytes that a name is made of.
class Content {
 public:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(tenon_str s) { list(s.data, s.size); }
  template <class T>
  void list(const T* items, uint64_t count) {
    number(count);
    if (count > 0) bytes_.append(reinterpret_cast<const char*>(items), count * sizeof(T));
  }
  void tensor(const tenon_tensor& t) {
    number(t.dtype);
    list(t.dims, t.rank);
    if (t.dtype == TENON_STRING) list(t.offsets, static_cast<uint64_t>(count(t)) + 1);
    list(static_cast<const char*>(t.data), t.byte_size);
  }
  void attribute(const tenon_attribute& a) {
    text(a.name);
    number(a.type), number(a.i), number(a.f), number(a.count);
    text(a.s);
    list(a.ints, a.ints == nullptr ? 0 : a.count);
    list(a.floats, a.floats == nullptr ? 0 : a.count);
    for (uint64_t i = 0; a.strings != nullptr && i < a.count; ++i) text(a.strings[i]);
    for (uint64_t i = 0; a.tensors != nullptr && i < std::max<uint64_t>(a.count, 1); ++i)
      tensor(a.tensors[i]);
  }
  void write(uint8_t* out) const {
    const auto digest = sha256_bytes(bytes_);
    std::copy(digest.begin(), digest.end(), out);
  }

 private:
  static int64_t count(const tenon_tensor& t) {
    int64_t n = 1;
    for (uint32_t d = 0; d < t.rank; ++d) n *= t.dims[d];
    return n;
  }
  std::string bytes_;
};

tenon_status graph_constant_id(const tenon_graph* graph, uint32_t value, uint8_t* out_id) {
  if (!usable(graph, "graph_constant_id") || value >= graph->values.size()) return TENON_INVALID_ARGUMENT;
  if ((graph->values[value].info.flags & TENON_VALUE_CONSTANT) == 0) return TENON_NOT_FOUND;
  Content content;
  content.tensor(graph->values[value].constant);
  content.write(out_id);
  return TENON_OK;
}

tenon_status graph_fingerprint(const tenon_graph* graph, uint8_t* out_id) {
  if (!usable(graph, "graph_fingerprint")) return TENON_INVALID_ARGUMENT;
  Content content;
  content.number(graph->flags);
  content.list(graph->inputs.data(), graph->inputs.size());
  content.list(graph->outputs.data(), graph->outputs.size());
  for (const tenon_graph::Value& value : graph->values) {
    content.number(value.info.flags), content.number(value.info.kind), content.number(value.info.dtype);
    content.number(value.info.rank);
    content.list(value.dims.data(), value.dims.size());
    if ((value.info.flags & TENON_VALUE_CONSTANT) != 0) content.tensor(value.constant);
  }
  for (const tenon_graph::Node& node : graph->nodes) {
    content.text(to_str(node.domain)), content.text(to_str(node.op_type));
    content.number(node.in_case->since_version);
    content.list(node.inputs.data(), node.inputs.size());
    content.list(node.outputs.data(), node.outputs.size());
    for (const tenon_attribute& attribute : node.attributes) content.attribute(attribute);
  }
  content.write(out_id);
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
  table->graph_constant_id = graph_constant_id;
  table->graph_fingerprint = graph_fingerprint;
}

}  // namespace tenon::cts
