// Building and copying graphs. The functions in graph_edit.cc maintain the use lists.
#include "core/ir/graph.h"

#include <utility>

namespace tenon::ir {

Graph::Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph::~Graph() = default;

Graph::Graph(const Graph& other)
    : name(other.name),
      doc(other.doc),
      links_(other.links_),
      node_count_(other.node_count_),
      inputs_(other.inputs_),
      outputs_(other.outputs_),
      output_places_(other.output_places_),
      captures_(other.captures_),
      defaults_(other.defaults_),
      value_names_(other.value_names_),
      node_names_(other.node_names_) {
  nodes_.reserve(other.nodes_.size());
  for (const auto& node : other.nodes_) nodes_.push_back(node ? std::make_unique<Node>(*node) : nullptr);
  values_.reserve(other.values_.size());
  for (const auto& value : other.values_)
    values_.push_back(value ? std::make_unique<Value>(*value) : nullptr);
}

Graph& Graph::operator=(Graph other) noexcept {
  name = std::move(other.name);
  doc = std::move(other.doc);
  nodes_ = std::move(other.nodes_);
  values_ = std::move(other.values_);
  links_ = std::move(other.links_);
  node_count_ = other.node_count_;
  inputs_ = std::move(other.inputs_);
  outputs_ = std::move(other.outputs_);
  output_places_ = std::move(other.output_places_);
  captures_ = std::move(other.captures_);
  defaults_ = std::move(other.defaults_);
  value_names_ = std::move(other.value_names_);
  node_names_ = std::move(other.node_names_);
  return *this;
}

namespace {

/// `base`, or base_N for some N when `base` is taken. N doubles until the name is free; then a search between the
/// last two values follows. This takes few lookups, so giving 100,000 nodes the same base name is not quadratic.
template <class Names>
std::string unique_name(const Names& names, std::string_view base) {
  auto with_suffix = [&](uint64_t number) { return std::string(base) + "_" + std::to_string(number); };
  if (names.find(base) == names.end()) return std::string(base);
  uint64_t taken = 0, open = 1;
  while (names.find(with_suffix(open)) != names.end()) {
    taken = open;
    open *= 2;
  }
  while (open - taken > 1) {
    uint64_t middle = taken + (open - taken) / 2;
    (names.find(with_suffix(middle)) != names.end() ? taken : open) = middle;
  }
  return with_suffix(open);
}

}  // namespace

std::string Graph::unique_node_name(std::string_view base) const {
  return unique_name(node_names_, base.empty() ? "node" : base);
}

std::string Graph::unique_value_name(std::string_view base) const {
  return unique_name(value_names_, base.empty() ? "value" : base);
}

ValueId Graph::find_value(std::string_view value_name) const {
  auto found = value_names_.find(value_name);
  return found == value_names_.end() ? kNone : found->second;
}

ValueId Graph::add_value(std::string_view value_name, Type type) {
  auto id = static_cast<ValueId>(values_.size());
  auto value = std::make_unique<Value>();
  value->name = unique_value_name(value_name);
  value->type = std::move(type);
  value_names_.emplace(value->name, id);
  values_.push_back(std::move(value));
  return id;
}

ValueId Graph::add_constant(std::string_view value_name, TensorPtr tensor) {
  ValueId id = add_value(value_name);
  set_constant(id, std::move(tensor));
  return id;
}

void Graph::add_input(ValueId value) {
  values_[value]->is_input = true;
  inputs_.push_back(value);
}

void Graph::add_default(ValueId input, TensorPtr value) { defaults_.push_back({input, std::move(value)}); }

void Graph::add_output(ValueId value) {
  output_places_.emplace(value, static_cast<uint32_t>(outputs_.size()));
  ++values_[value]->output_count;
  outputs_.push_back(value);
}

void Graph::set_outputs(std::vector<ValueId> outputs) {
  for (ValueId value : outputs_) values_[value]->output_count = 0;
  output_places_.clear();
  outputs_ = std::move(outputs);
  for (size_t place = 0; place < outputs_.size(); ++place) {
    output_places_.emplace(outputs_[place], static_cast<uint32_t>(place));
    ++values_[outputs_[place]]->output_count;
  }
}

ValueId Graph::add_capture(ValueId outer, std::string_view value_name, Type type) {
  ValueId inner = add_value(value_name, std::move(type));
  values_[inner]->is_capture = true;
  captures_.push_back({outer, inner});
  return inner;
}

NodeId Graph::add_node(Node node) {
  auto id = static_cast<NodeId>(nodes_.size());
  node.name = unique_node_name(node.name.empty() ? node.op_type : node.name);
  node_names_.emplace(node.name, id);
  nodes_.push_back(std::make_unique<Node>(std::move(node)));
  links_.emplace_back();
  ++node_count_;

  const Node& added = *nodes_.back();
  auto input_count = static_cast<uint32_t>(added.inputs.size());
  links_.back().input_use_index.assign(input_count, kNone);
  for (uint32_t i = 0; i < input_count; ++i) {
    if (added.inputs[i] != kNone) add_use(added.inputs[i], {id, i});
  }
  for (uint32_t i = 0; i < added.outputs.size(); ++i) {
    if (added.outputs[i] == kNone) continue;
    values_[added.outputs[i]]->producer = id;
    values_[added.outputs[i]]->producer_output = i;
  }
  refresh_captures(id);
  return id;
}

}  // namespace tenon::ir
