#include "host/device/graph_view.h"

#include <algorithm>
#include <cstring>
#include <queue>

namespace tenon::runtime {
namespace {

tenon_str to_str(std::string_view text) { return {text.data(), text.size()}; }

/// Copies only as much as the caller's struct holds.
template <class Info>
tenon_status give(Info full, Info* out) {
  const uint32_t size = out->struct_size;
  full.struct_size = size;
  std::memcpy(static_cast<void*>(out), &full, std::min<size_t>(size, sizeof(full)));
  return TENON_OK;
}

/// The element type of the innermost tensor.
ir::ElementType innermost(const ir::Type& type) {
  const ir::Type* t = &type;
  while (t->inner != nullptr) t = t->inner.get();
  return t->element;
}

// A node without a schema version has the version of its domain that the model imports.
int32_t version_of(const ir::Node& node, const GraphSource& source) {
  if (node.since_version != 0) return node.since_version;
  const auto found = source.opset_imports->find(node.domain);
  return found == source.opset_imports->end() ? 0 : static_cast<int32_t>(found->second);
}

class ViewBuilder {
 public:
  ViewBuilder(const GraphSource& source, const std::unordered_map<ir::ValueId, ir::Type>* types)
      : types_(types), view_(std::make_unique<tenon_graph>()) {
    view_->source = source;
    if (source.is_body) view_->flags |= TENON_GRAPH_BODY;
    if (source.is_weighed) view_->flags |= TENON_GRAPH_WEIGHED;
    if (types != nullptr) view_->flags |= TENON_GRAPH_STATIC;
    for (const auto& [domain, version] : *source.opset_imports)
      view_->opsets.push_back({to_str(domain), version});
  }

  void add_node(ir::NodeId id, bool taken) {
    const ir::Node& node = graph().node(id);
    uint32_t flags = taken ? TENON_NODE_TAKEN : 0;
    const GraphSource& source = view_->source;
    if (source.is_function && source.is_function(node)) flags |= TENON_NODE_FUNCTION;
    if (source.is_control_flow && source.is_control_flow(node)) flags |= TENON_NODE_CONTROL_FLOW;
    const auto index = static_cast<uint32_t>(view_->nodes.size());
    const auto first_input = static_cast<uint32_t>(view_->edges.size());
    for (const ir::ValueId input : node.inputs) add_use(input);
    const auto first_output = static_cast<uint32_t>(view_->edges.size());
    for (const ir::ValueId output : node.outputs) {
      view_->edges.push_back(index_of(output));
      if (output != ir::kNone) view_->values[view_->edges.back()].producer = index;
    }
    const auto first_capture = static_cast<uint32_t>(view_->edges.size());
    for (const ir::Attribute& attribute : node.attributes) {
      for (const ir::GraphBox& body : attribute.graphs) {
        for (const ir::Capture& capture : body->captures()) add_use(capture.outer);
      }
    }
    const uint32_t captures = static_cast<uint32_t>(view_->edges.size()) - first_capture;
    view_->nodes.push_back({&node, id, flags, first_input, first_output, first_capture, captures});
  }

  void add_input(ir::ValueId id) {
    const uint32_t index = index_of(id);
    view_->values[index].flags |= TENON_VALUE_INPUT;
    view_->inputs.push_back(index);
  }
  void add_output(ir::ValueId id) {
    const uint32_t index = index_of(id);
    view_->values[index].flags |= TENON_VALUE_OUTPUT;
    view_->outputs.push_back(index);
  }
  void reserve(size_t nodes) {
    view_->nodes.reserve(nodes);
    view_->edges.reserve(4 * nodes);
    view_->values.reserve(2 * nodes);
    view_->value_index.reserve(2 * nodes);
  }
  std::unique_ptr<tenon_graph> take() { return std::move(view_); }

 private:
  const ir::Graph& graph() const { return *view_->source.graph; }

  void add_use(ir::ValueId id) {
    const uint32_t index = index_of(id);
    view_->edges.push_back(index);
    if (index != TENON_NO_INDEX) ++view_->values[index].consumers;
  }

  uint32_t index_of(ir::ValueId id) {
    if (id == ir::kNone) return TENON_NO_INDEX;
    const auto next = static_cast<uint32_t>(view_->values.size());
    const auto [at, added] = view_->value_index.emplace(id, next);
    if (!added) return at->second;
    const ir::Value& value = graph().value(id);
    const ir::Type* type = &value.type;
    if (types_ != nullptr) {
      if (const auto own = types_->find(id); own != types_->end()) type = &own->second;
    }
    const uint32_t flags = value.is_constant() ? TENON_VALUE_CONSTANT : 0;
    const auto first_dim = static_cast<uint32_t>(view_->dims.size());
    for (const ir::Dim& dim : type->shape.dims)
      view_->dims.push_back(dim.known() ? dim.value : TENON_DIM_UNKNOWN);
    view_->values.push_back({&value, type, id, flags, TENON_NO_INDEX, 0, first_dim});
    return next;
  }

  const std::unordered_map<ir::ValueId, ir::Type>* types_;
  std::unique_ptr<tenon_graph> view_;
};

Result<std::unique_ptr<tenon_graph>> build_whole(const GraphSource& source,
                                                 const std::function<bool(ir::NodeId)>& taken) {
  const ir::Graph& graph = *source.graph;
  ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph.topological_order());
  ViewBuilder builder(source, nullptr);
  builder.reserve(order.size());
  for (const ir::ValueId id : graph.inputs()) builder.add_input(id);
  for (const ir::Capture& capture : graph.captures()) builder.add_input(capture.inner);
  for (const ir::NodeId id : order) builder.add_node(id, taken && taken(id));
  for (const ir::ValueId id : graph.outputs()) builder.add_output(id);
  return builder.take();
}

/// The nodes in topological order. Otherwise keeps the given order.
Result<std::vector<ir::NodeId>> sorted(const ir::Graph& graph, std::span<const ir::NodeId> nodes) {
  if (nodes.size() == 1) return std::vector<ir::NodeId>(nodes.begin(), nodes.end());
  std::unordered_map<ir::NodeId, uint32_t> position;
  for (const ir::NodeId id : nodes) position.emplace(id, static_cast<uint32_t>(position.size()));
  std::vector<uint32_t> waits_for(nodes.size(), 0);
  const auto visit_uses = [&](ir::NodeId id, auto&& visit) {
    for (const ir::ValueId output : graph.node(id).outputs) {
      if (output == ir::kNone) continue;
      for (const ir::Use& use : graph.value(output).uses) {
        if (const auto at = position.find(use.node); at != position.end()) visit(at->second);
      }
    }
  };
  for (const ir::NodeId id : nodes) visit_uses(id, [&](uint32_t user) { ++waits_for[user]; });
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<ir::NodeId> out;
  while (!ready.empty()) {
    out.push_back(nodes[ready.top()]);
    ready.pop();
    visit_uses(out.back(), [&](uint32_t user) {
      if (--waits_for[user] == 0) ready.push(user);
    });
  }
  if (out.size() != nodes.size()) return internal_error("the nodes of a claim form a cycle");
  return out;
}

/// The caller holds the view's mutex.
Result<const tenon_tensor*> keep(const tenon_graph& view, const ir::TensorPtr& tensor) {
  auto& kept = view.attribute_constants[tensor.get()];
  if (kept == nullptr) {
    ASSIGN_OR_RETURN(kept, view.source.constants->get(tensor));
  }
  return &kept->descriptor();
}

Status fill_extra(const tenon_graph& view, const ir::Attribute& attribute,
                  tenon_graph::AttributeExtra* extra) {
  for (const std::string& s : attribute.strings) extra->strings.push_back(to_str(s));
  for (const ir::TensorPtr& tensor : attribute.tensors) {
    ASSIGN_OR_RETURN(const tenon_tensor* const descriptor, keep(view, tensor));
    extra->tensors.push_back(*descriptor);
  }
  for (const ir::GraphBox& body : attribute.graphs) {
    GraphSource source = view.source;
    source.graph = &*body;
    source.is_body = true;
    ASSIGN_OR_RETURN(auto nested, build_whole(source, {}));
    extra->graph_pointers.push_back(nested.get());
    extra->graphs.push_back(std::move(nested));
  }
  return ok_status();
}

/// The parts of an attribute that ir::Attribute cannot give directly. Made at the first call. Null when that fails.
const tenon_graph::AttributeExtra* extra_of(const tenon_graph& view, const ir::Attribute& attribute) {
  const std::lock_guard lock(view.mutex);
  auto& extra = view.extras[&attribute];
  if (extra == nullptr) {
    auto made = std::make_unique<tenon_graph::AttributeExtra>();
    if (!fill_extra(view, attribute, made.get()).ok()) return nullptr;
    extra = std::move(made);
  }
  return extra.get();
}

bool needs_extra(const ir::Attribute& a) {
  return !a.strings.empty() || !a.tensors.empty() || !a.graphs.empty();
}

tenon_status give_attribute(const tenon_graph& view, const ir::Attribute& attribute, tenon_attribute* out) {
  tenon_attribute full{};
  full.type = static_cast<uint32_t>(attribute.type);
  full.name = to_str(attribute.name);
  full.i = attribute.i;
  full.f = static_cast<double>(attribute.f);
  full.s = to_str(attribute.s);
  full.ints = attribute.ints.data();
  full.floats = attribute.floats.data();
  // Only one of these is not empty.
  full.count = attribute.ints.size() + attribute.floats.size() + attribute.strings.size() +
               attribute.tensors.size() + attribute.graphs.size();
  if (needs_extra(attribute)) {
    const tenon_graph::AttributeExtra* extra = extra_of(view, attribute);
    if (extra == nullptr) return TENON_RESOURCE_EXHAUSTED;
    full.strings = extra->strings.data();
    full.tensors = extra->tensors.data();
    full.graphs = extra->graph_pointers.data();
  }
  return give(full, out);
}

}  // namespace

Result<GraphView> GraphView::whole(const GraphSource& source, const std::function<bool(ir::NodeId)>& taken) {
  GraphView out;
  ASSIGN_OR_RETURN(out.graph_, build_whole(source, taken));
  return out;
}

Result<GraphView> GraphView::of_claim(const GraphSource& source, const ClaimView& claim) {
  ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, sorted(*source.graph, claim.nodes));
  ViewBuilder builder(source, claim.types);
  builder.reserve(order.size());
  for (const ir::ValueId id : claim.inputs) builder.add_input(id);
  for (const ir::NodeId id : order) builder.add_node(id, false);
  for (const ir::ValueId id : claim.outputs) builder.add_output(id);
  GraphView out;
  out.graph_ = builder.take();
  return out;
}

uint32_t GraphView::index_of(ir::ValueId value) const {
  const auto at = graph_->value_index.find(value);
  return at == graph_->value_index.end() ? TENON_NO_INDEX : at->second;
}

std::vector<ConstantPtr> GraphView::take_constants() {
  const std::lock_guard lock(graph_->mutex);
  std::vector<ConstantPtr> out;
  for (auto& [value, constant] : graph_->used_constants) {
    if (constant != nullptr) out.push_back(std::move(constant));
  }
  for (auto& [tensor, constant] : graph_->attribute_constants) {
    if (constant != nullptr) out.push_back(std::move(constant));
  }
  graph_->used_constants.clear();
  graph_->attribute_constants.clear();
  return out;
}

tenon_status graph_info(const tenon_graph* graph, tenon_graph_info* out_info) noexcept {
  if (graph == nullptr || out_info == nullptr) return TENON_INVALID_ARGUMENT;
  tenon_graph_info full{};
  full.flags = graph->flags;
  full.node_count = static_cast<uint32_t>(graph->nodes.size());
  full.value_count = static_cast<uint32_t>(graph->values.size());
  full.input_count = static_cast<uint32_t>(graph->inputs.size());
  full.output_count = static_cast<uint32_t>(graph->outputs.size());
  full.inputs = graph->inputs.data();
  full.outputs = graph->outputs.data();
  full.name = to_str(graph->source.graph->name);
  full.opsets = graph->opsets.data();
  full.opset_count = static_cast<uint32_t>(graph->opsets.size());
  return give(full, out_info);
}

tenon_status graph_node(const tenon_graph* graph, uint32_t node, tenon_node_info* out_info) noexcept {
  if (graph == nullptr || out_info == nullptr || node >= graph->nodes.size()) return TENON_INVALID_ARGUMENT;
  const tenon_graph::NodeEntry& entry = graph->nodes[node];
  const ir::Node& n = *entry.node;
  tenon_node_info full{};
  full.flags = entry.flags;
  full.name = to_str(n.name);
  full.domain = to_str(n.domain);
  full.op_type = to_str(n.op_type);
  full.overload = to_str(n.overload);
  full.since_version = version_of(n, graph->source);
  full.attribute_count = static_cast<uint32_t>(n.attributes.size());
  full.inputs = graph->edges.data() + entry.first_input;
  full.outputs = graph->edges.data() + entry.first_output;
  full.input_count = static_cast<uint32_t>(n.inputs.size());
  full.output_count = static_cast<uint32_t>(n.outputs.size());
  full.captures = graph->edges.data() + entry.first_capture;
  full.capture_count = entry.captures;
  return give(full, out_info);
}

tenon_status graph_value(const tenon_graph* graph, uint32_t value, tenon_value_info* out_info) noexcept {
  if (graph == nullptr || out_info == nullptr || value >= graph->values.size()) return TENON_INVALID_ARGUMENT;
  const tenon_graph::ValueEntry& entry = graph->values[value];
  tenon_value_info full{};
  full.flags = entry.flags;
  full.name = to_str(entry.value->name);
  full.kind = static_cast<uint32_t>(entry.type->kind);
  full.dtype = static_cast<uint32_t>(innermost(*entry.type));
  full.rank =
      entry.type->shape.has_rank ? static_cast<int32_t>(entry.type->shape.rank()) : TENON_RANK_UNKNOWN;
  full.producer = entry.producer;
  full.dims = graph->dims.data() + entry.first_dim;
  full.consumer_count = entry.consumers;
  return give(full, out_info);
}

tenon_status graph_attribute(const tenon_graph* graph, uint32_t node, uint32_t index,
                             tenon_attribute* out_attribute) noexcept {
  try {
    if (graph == nullptr || out_attribute == nullptr || node >= graph->nodes.size())
      return TENON_INVALID_ARGUMENT;
    const auto& attributes = graph->nodes[node].node->attributes;
    if (index >= attributes.size()) return TENON_INVALID_ARGUMENT;
    return give_attribute(*graph, attributes[index], out_attribute);
  } catch (...) {
    return TENON_RESOURCE_EXHAUSTED;
  }
}

tenon_status graph_find_attribute(const tenon_graph* graph, uint32_t node, tenon_str name,
                                  tenon_attribute* out_attribute) noexcept {
  try {
    if (graph == nullptr || out_attribute == nullptr || node >= graph->nodes.size())
      return TENON_INVALID_ARGUMENT;
    const ir::Attribute* attribute =
        graph->nodes[node].node->find({name.data, static_cast<size_t>(name.size)});
    if (attribute == nullptr) return TENON_NOT_FOUND;
    return give_attribute(*graph, *attribute, out_attribute);
  } catch (...) {
    return TENON_RESOURCE_EXHAUSTED;
  }
}

tenon_status graph_constant(const tenon_graph* graph, uint32_t value, tenon_tensor* out_tensor) noexcept {
  try {
    if (graph == nullptr || out_tensor == nullptr || value >= graph->values.size())
      return TENON_INVALID_ARGUMENT;
    const ir::TensorPtr& tensor = graph->values[value].value->constant;
    if (tensor == nullptr) return TENON_INVALID_ARGUMENT;
    const std::lock_guard lock(graph->mutex);
    ConstantPtr& used = graph->used_constants[value];
    if (used == nullptr) {
      auto constant = graph->source.constants->get(tensor);
      if (!constant.ok()) return static_cast<tenon_status>(constant.error().code());
      used = std::move(constant).value();
    }
    *out_tensor = used->descriptor();
    return TENON_OK;
  } catch (...) {
    return TENON_RESOURCE_EXHAUSTED;
  }
}

tenon_status graph_constant_consumed(const tenon_graph* graph, uint32_t value) noexcept {
  try {
    if (graph == nullptr || value >= graph->values.size()) return TENON_INVALID_ARGUMENT;
    if (graph->values[value].value->constant == nullptr) return TENON_INVALID_ARGUMENT;
    const std::lock_guard lock(graph->mutex);
    const auto used = graph->used_constants.find(value);
    if (used == graph->used_constants.end()) return TENON_OK;
    graph->source.constants->consumed(*used->second);
    graph->used_constants.erase(used);
    return TENON_OK;
  } catch (...) {
    return TENON_RESOURCE_EXHAUSTED;
  }
}

}  // namespace tenon::runtime
