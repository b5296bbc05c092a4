#include "ep-sdk/cts/graph.h"

#include <algorithm>
#include <cstring>

#include "ep-sdk/cts/host_table.h"

namespace tenon::cts {
namespace {

tenon_str to_str(const std::string& s) { return {s.data(), s.size()}; }

tenon_attribute make_attribute(tenon_graph& view, const Attribute& from) {
  tenon_attribute out{};
  out.struct_size = sizeof(out);
  out.name = to_str(from.name);
  if (const auto* i = std::get_if<int64_t>(&from.value)) {
    out.type = TENON_ATTR_INT, out.i = *i;
  } else if (const auto* f = std::get_if<float>(&from.value)) {
    out.type = TENON_ATTR_FLOAT, out.f = *f;
  } else if (const auto* s = std::get_if<std::string>(&from.value)) {
    out.type = TENON_ATTR_STRING, out.s = to_str(*s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&from.value)) {
    out.type = TENON_ATTR_INTS, out.count = ints->size(), out.ints = ints->data();
  } else if (const auto* floats = std::get_if<std::vector<float>>(&from.value)) {
    out.type = TENON_ATTR_FLOATS, out.count = floats->size(), out.floats = floats->data();
  } else if (const auto* list = std::get_if<std::vector<std::string>>(&from.value)) {
    std::vector<tenon_str>& strings = view.string_lists.emplace_back();
    for (const std::string& s : *list) strings.push_back(to_str(s));
    out.type = TENON_ATTR_STRINGS, out.count = list->size(), out.strings = strings.data();
  } else {
    out.type = TENON_ATTR_TENSOR, out.count = 1;
    out.tensors = &view.tensors.emplace_back(
        describe(std::get<Tensor>(from.value), view.offsets.emplace_back(), view.characters.emplace_back()));
  }
  return out;
}

/// Makes the view of one part of a graph.
class ViewMaker {
 public:
  ViewMaker(const GraphCase& graph, const std::vector<uint32_t>& nodes) : graph_(graph), chosen_(nodes) {
    std::sort(chosen_.begin(), chosen_.end());
  }

  std::unique_ptr<tenon_graph> make() {
    for (const uint32_t n : chosen_) {
      if (n < graph_.nodes.size()) add_node(graph_.nodes[n]);
    }
    for (uint32_t v = 0; v < view_->values.size(); ++v) finish_value(v);
    for (auto& [domain, version] : versions_) view_->opsets.push_back({to_str(domain), version});
    view_->opsets.shrink_to_fit();
    return std::move(view_);
  }

 private:
  bool inside(uint32_t node) const { return std::binary_search(chosen_.begin(), chosen_.end(), node); }

  uint32_t add_value(uint32_t value) {
    if (value == TENON_NO_INDEX || graph_.values[value].tensor.kind == TENON_KIND_NONE) return TENON_NO_INDEX;
    const auto known = numbers_.find(value);
    if (known != numbers_.end()) return known->second;
    tenon_graph::Value& out = view_->values.emplace_back();
    out.in_case = value;
    out.name = graph_.values[value].name;
    out.dims = graph_.values[value].tensor.dims;
    if (graph_.values[value].is_unranked) out.dims.clear();
    if (graph_.values[value].is_open) std::fill(out.dims.begin(), out.dims.end(), TENON_DIM_UNKNOWN);
    return numbers_[value] = static_cast<uint32_t>(view_->values.size() - 1);
  }

  void add_node(const GraphCase::Node& node) {
    tenon_graph::Node& out = view_->nodes.emplace_back();
    out.in_case = &node;
    out.name = node.name, out.domain = node.domain, out.op_type = node.op_type;
    for (const uint32_t value : node.inputs) out.inputs.push_back(add_value(value));
    for (const uint32_t value : node.outputs) out.outputs.push_back(add_value(value));
    for (const Attribute& attribute : node.attributes)
      out.attributes.push_back(make_attribute(*view_, attribute));
    const auto entry = versions_.emplace(node.domain, node.since_version).first;
    entry->second = std::max<int64_t>(entry->second, node.since_version);
  }

  bool used_outside(uint32_t value) const {
    if (graph_.values[value].is_output) return true;
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      const auto& inputs = graph_.nodes[n].inputs;
      if (!inside(n) && std::count(inputs.begin(), inputs.end(), value) != 0) return true;
    }
    return false;
  }

  void finish_value(uint32_t v) {
    tenon_graph::Value& out = view_->values[v];
    const Tensor& tensor = graph_.values[out.in_case].tensor;
    out.info.kind = tensor.kind;
    out.info.dtype = tensor.dtype;
    const bool shaped = tensor.kind == TENON_KIND_TENSOR && !graph_.values[out.in_case].is_unranked;
    out.info.rank = shaped ? static_cast<int32_t>(out.dims.size()) : TENON_RANK_UNKNOWN;
    out.info.name = to_str(out.name);
    out.info.dims = out.dims.data();
    out.info.producer = TENON_NO_INDEX;
    for (uint32_t n = 0; n < view_->nodes.size(); ++n) {
      const tenon_graph::Node& node = view_->nodes[n];
      if (std::count(node.outputs.begin(), node.outputs.end(), v) != 0) out.info.producer = n;
      out.info.consumer_count += static_cast<uint32_t>(std::count(node.inputs.begin(), node.inputs.end(), v));
    }
    if (out.info.producer != TENON_NO_INDEX) {
      if (!used_outside(out.in_case)) return;
      out.info.flags = TENON_VALUE_OUTPUT;
      view_->outputs.push_back(v);
    } else if (tensor.constant) {
      out.info.flags = TENON_VALUE_CONSTANT;
      place_constant(out, tensor);
    } else {
      out.info.flags = TENON_VALUE_INPUT;
      view_->inputs.push_back(v);
    }
  }

  /// Copies a constant to 64-byte aligned memory in its own pages.
  static void place_constant(tenon_graph::Value& out, const Tensor& tensor) {
    std::string characters;
    out.constant = describe(tensor, out.offsets, characters);
    out.constant.dims = out.dims.data();
    out.memory = GuardedMemory(out.constant.byte_size, 64);
    if (out.constant.byte_size > 0) std::memcpy(out.memory.data(), out.constant.data, out.constant.byte_size);
    out.constant.data = out.memory.data();
    if (host_state().protect_constants) out.memory.protect(Access::kRead);
  }

  const GraphCase& graph_;
  std::vector<uint32_t> chosen_;
  std::map<uint32_t, uint32_t> numbers_;  // value of the case -> value of the view
  std::map<std::string, int64_t> versions_;
  std::unique_ptr<tenon_graph> view_ = std::make_unique<tenon_graph>();
};

}  // namespace

uint32_t GraphCase::producer(uint32_t value) const {
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (std::count(nodes[n].outputs.begin(), nodes[n].outputs.end(), value) != 0) return n;
  }
  return TENON_NO_INDEX;
}

std::vector<uint32_t> GraphCase::all_nodes() const {
  std::vector<uint32_t> out;
  for (uint32_t n = 0; n < nodes.size(); ++n) out.push_back(n);
  return out;
}

GraphCase graph_of(const NodeCase& node) {
  GraphCase out;
  GraphCase::Node& only = out.nodes.emplace_back();
  only.name = "tested";
  only.op_type = node.op_type, only.domain = node.domain, only.since_version = node.since_version;
  only.attributes = node.attributes;
  const auto add = [&](const Tensor& tensor, const char* prefix, bool is_output) {
    if (tensor.kind == TENON_KIND_NONE) return static_cast<uint32_t>(TENON_NO_INDEX);
    const std::string name = prefix + std::to_string(out.values.size());
    out.values.push_back({name, tensor, false, is_output});
    return static_cast<uint32_t>(out.values.size() - 1);
  };
  for (const Tensor& input : node.inputs) only.inputs.push_back(add(input, "in", false));
  for (const Tensor& output : node.outputs) only.outputs.push_back(add(output, "out", true));
  return out;
}

std::unique_ptr<tenon_graph> make_view(const GraphCase& graph, const std::vector<uint32_t>& nodes,
                                       bool is_static) {
  std::unique_ptr<tenon_graph> out = ViewMaker(graph, nodes).make();
  if (is_static) out->flags |= TENON_GRAPH_STATIC;
  return out;
}

tenon_tensor describe(const Tensor& tensor, std::vector<int64_t>& offsets, std::string& characters) {
  tenon_tensor out{};
  out.kind = tensor.kind;
  out.dtype = tensor.dtype;
  out.rank = static_cast<uint32_t>(tensor.dims.size());
  out.dims = tensor.dims.data();
  out.data = const_cast<uint8_t*>(tensor.bytes.data());
  out.byte_size = tensor.bytes.size();
  if (tensor.dtype == TENON_STRING && tensor.kind == TENON_KIND_TENSOR) {
    offsets.assign(1, 0);
    characters.clear();
    for (const std::string& s : tensor.strings) {
      characters += s;
      offsets.push_back(static_cast<int64_t>(characters.size()));
    }
    out.data = characters.data();
    out.byte_size = characters.size();
    out.offsets = offsets.data();
  }
  return out;
}

}  // namespace tenon::cts

void tenon_graph::end(bool scramble) {
  ended = true;
  if (!scramble) return;
  const auto spoil = [](std::string& text) { std::fill(text.begin(), text.end(), '?'); };
  for (Value& value : values) {
    spoil(value.name);
    if (value.info.flags != TENON_VALUE_CONSTANT) std::fill(value.dims.begin(), value.dims.end(), 987654321);
  }
  for (Node& node : nodes) {
    spoil(node.name), spoil(node.domain), spoil(node.op_type);
    std::fill(node.inputs.begin(), node.inputs.end(), 123456789u);
    std::fill(node.outputs.begin(), node.outputs.end(), 123456789u);
  }
}
