// Attributes and nodes.
#include <algorithm>
#include <utility>

#include "core/base/quote.h"
#include "core/ir/graph.h"

namespace tenon::ir {

GraphBox::GraphBox() : graph_(std::make_unique<Graph>()) {}
GraphBox::GraphBox(Graph graph) : graph_(std::make_unique<Graph>(std::move(graph))) {}
GraphBox::GraphBox(const GraphBox& other)
    : graph_(other.graph_ ? std::make_unique<Graph>(*other.graph_) : nullptr) {}
GraphBox::GraphBox(GraphBox&& other) noexcept = default;
GraphBox& GraphBox::operator=(GraphBox other) noexcept {
  graph_ = std::move(other.graph_);
  return *this;
}
GraphBox::~GraphBox() = default;

std::string_view attribute_type_name(AttributeType type) {
  switch (type) {
    case AttributeType::kUndefined:
      return "undefined";
    case AttributeType::kFloat:
      return "float";
    case AttributeType::kInt:
      return "int";
    case AttributeType::kString:
      return "string";
    case AttributeType::kTensor:
      return "tensor";
    case AttributeType::kGraph:
      return "graph";
    case AttributeType::kFloats:
      return "floats";
    case AttributeType::kInts:
      return "ints";
    case AttributeType::kStrings:
      return "strings";
    case AttributeType::kTensors:
      return "tensors";
    case AttributeType::kGraphs:
      return "graphs";
    case AttributeType::kSparseTensor:
      return "sparse_tensor";
    case AttributeType::kSparseTensors:
      return "sparse_tensors";
    case AttributeType::kTypeProto:
      return "type";
    case AttributeType::kTypeProtos:
      return "types";
  }
  return "undefined";
}

namespace {

Attribute start(std::string name, AttributeType type) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = type;
  return attribute;
}

}  // namespace

Attribute Attribute::of_int(std::string name, int64_t value) {
  Attribute attribute = start(std::move(name), AttributeType::kInt);
  attribute.i = value;
  return attribute;
}

Attribute Attribute::of_ints(std::string name, std::vector<int64_t> values) {
  Attribute attribute = start(std::move(name), AttributeType::kInts);
  attribute.ints = std::move(values);
  return attribute;
}

Attribute Attribute::of_float(std::string name, float value) {
  Attribute attribute = start(std::move(name), AttributeType::kFloat);
  attribute.f = value;
  return attribute;
}

Attribute Attribute::of_floats(std::string name, std::vector<float> values) {
  Attribute attribute = start(std::move(name), AttributeType::kFloats);
  attribute.floats = std::move(values);
  return attribute;
}

Attribute Attribute::of_string(std::string name, std::string value) {
  Attribute attribute = start(std::move(name), AttributeType::kString);
  attribute.s = std::move(value);
  return attribute;
}

Attribute Attribute::of_strings(std::string name, std::vector<std::string> values) {
  Attribute attribute = start(std::move(name), AttributeType::kStrings);
  attribute.strings = std::move(values);
  return attribute;
}

Attribute Attribute::of_tensor(std::string name, TensorPtr value) {
  Attribute attribute = start(std::move(name), AttributeType::kTensor);
  attribute.tensors.push_back(std::move(value));
  return attribute;
}

Attribute Attribute::of_graph(std::string name, Graph graph) {
  Attribute attribute = start(std::move(name), AttributeType::kGraph);
  attribute.graphs.emplace_back(std::move(graph));
  return attribute;
}

const Attribute* Node::find(std::string_view attribute) const {
  auto found = std::find_if(attributes.begin(), attributes.end(),
                            [&](const Attribute& candidate) { return candidate.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

int64_t Node::int_or(std::string_view attribute, int64_t fallback) const {
  const Attribute* found = find(attribute);
  return found && found->type == AttributeType::kInt && found->reference.empty() ? found->i : fallback;
}

bool Node::has_subgraph() const {
  return std::any_of(attributes.begin(), attributes.end(),
                     [](const Attribute& attribute) { return !attribute.graphs.empty(); });
}

std::string Node::label() const {
  std::string text = "node " + quote(name) + " (";
  if (!domain.empty()) text += printable(domain) + ".";
  return text + printable(op_type) + ")";
}

const Function* ModelInfo::find_function(std::string_view in_domain, std::string_view name,
                                         std::string_view overload) const {
  auto found = std::find_if(functions.begin(), functions.end(), [&](const Function& candidate) {
    return candidate.name == name && candidate.domain == in_domain && candidate.overload == overload;
  });
  return found == functions.end() ? nullptr : &*found;
}

}  // namespace tenon::ir
