#include "core/transform/edit.h"

#include <algorithm>
#include <numeric>

#include "core/ops/ops.h"

namespace tenon::transform {

bool has_input(const ir::Node& node, size_t index) {
  return index < node.inputs.size() && node.inputs[index] != ir::kNone;
}

ir::NodeId producer_of(const ir::Graph& graph, const ir::Node& node, size_t index, std::string_view op_type) {
  if (!has_input(node, index)) return ir::kNone;
  const ir::NodeId producer = graph.value(node.inputs[index]).producer;
  return producer != ir::kNone && graph.node(producer).is(op_type) ? producer : ir::kNone;
}

ir::TensorPtr constant_input(const ir::Graph& graph, const ir::Node& node, size_t index) {
  return has_input(node, index) ? graph.value(node.inputs[index]).constant : nullptr;
}

const ir::Type* input_type(const ir::Graph& graph, const ir::Node& node, size_t index) {
  return has_input(node, index) ? &graph.value(node.inputs[index]).type : nullptr;
}

int input_rank(const ir::Graph& graph, const ir::Node& node, size_t index) {
  const ir::Type* type = input_type(graph, node, index);
  return type != nullptr && type->is_tensor() && type->shape.has_rank ? static_cast<int>(type->shape.rank())
                                                                      : -1;
}

bool used_once(const ir::Graph& graph, ir::ValueId value) {
  const ir::Value& v = graph.value(value);
  return v.uses.size() == 1 && v.uses[0].input != ir::kNone && v.output_count == 0;
}

bool only_first_output_used(const ir::Graph& graph, const ir::Node& node) {
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == ir::kNone) continue;
    const ir::Value& value = graph.value(node.outputs[i]);
    if (!value.uses.empty() || value.output_count != 0) return false;
  }
  return !node.outputs.empty() && node.outputs[0] != ir::kNone;
}

std::optional<std::vector<int64_t>> ints_of(const ir::Graph& graph, const ir::Node& node,
                                            std::string_view attribute, size_t input) {
  if (const ir::Attribute* found = node.find(attribute)) return found->ints;
  const ir::TensorPtr constant = constant_input(graph, node, input);
  std::vector<int64_t> values;
  if (constant == nullptr || !constant->to_ints(&values)) return std::nullopt;
  return values;
}

std::vector<int64_t> permutation(const ir::Graph& graph, const ir::Node& node) {
  std::vector<int64_t> perm;
  if (const ir::Attribute* attribute = node.find("perm")) {
    perm = attribute->ints;
  } else if (const int rank = input_rank(graph, node, 0); rank >= 0) {
    for (int i = rank - 1; i >= 0; --i) perm.push_back(i);
  }
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return {};
  }
  return perm;
}

bool forward(ir::Graph& graph, ir::ValueId from, ir::ValueId to) {
  if (graph.value(from).output_count != 0) {
    const ir::Value& target = graph.value(to);
    if (target.producer == ir::kNone || target.output_count != 0) return false;
  }
  graph.replace_uses(from, to);
  return true;
}

void remove_node_and_outputs(ir::Graph& graph, ir::NodeId id) {
  const std::vector<ir::ValueId> outputs = graph.node(id).outputs;
  graph.remove_node(id);
  for (const ir::ValueId output : outputs) {
    if (output == ir::kNone) continue;
    const ir::Value& value = graph.value(output);
    if (value.uses.empty() && value.output_count == 0 && !value.is_input) graph.remove_value(output);
  }
}

namespace {

bool is_unused(const ir::Graph& graph, ir::NodeId id) {
  for (const ir::ValueId output : graph.node(id).outputs) {
    if (output == ir::kNone) continue;
    const ir::Value& value = graph.value(output);
    if (!value.uses.empty() || value.output_count != 0) return false;
  }
  return true;
}

/// The values that a node reads: its inputs and the captures of its nested graphs.
std::vector<ir::ValueId> reads_of(const ir::Node& node) {
  std::vector<ir::ValueId> values = node.inputs;
  for (const ir::Attribute& attribute : node.attributes) {
    for (const ir::GraphBox& body : attribute.graphs) {
      for (const ir::Capture& capture : body->captures()) values.push_back(capture.outer);
    }
  }
  return values;
}

}  // namespace

size_t remove_if_unused(ir::Graph& graph, ir::NodeId node) {
  size_t removed = 0;
  std::vector<ir::NodeId> work = {node};
  while (!work.empty()) {
    const ir::NodeId id = work.back();
    work.pop_back();
    if (!graph.has_node(id) || !is_unused(graph, id)) continue;
    const std::vector<ir::ValueId> reads = reads_of(graph.node(id));
    remove_node_and_outputs(graph, id);
    ++removed;
    for (const ir::ValueId value : reads) {
      if (value == ir::kNone || !graph.has_value(value)) continue;
      const ir::Value& read = graph.value(value);
      if (read.producer != ir::kNone) {
        work.push_back(read.producer);
      } else if (read.is_constant() && read.uses.empty() && read.output_count == 0) {
        graph.remove_value(value);
      }
    }
  }
  return removed;
}

Emitter::Emitter(ir::Graph& graph, int64_t opset, std::string prefix)
    : graph_(graph), opset_(opset), prefix_(std::move(prefix)) {}

const ir::Type& Emitter::type(ir::ValueId value) const {
  static const ir::Type kUnknown;
  return value == ir::kNone ? kUnknown : graph_.value(value).type;
}

ir::ValueId Emitter::op(std::string_view type, std::vector<ir::ValueId> inputs,
                        std::vector<ir::Attribute> attributes) {
  return ops(type, std::move(inputs), 1, std::move(attributes))[0];
}

std::vector<ir::ValueId> Emitter::ops(std::string_view type, std::vector<ir::ValueId> inputs, size_t outputs,
                                      std::vector<ir::Attribute> attributes) {
  std::vector<ir::ValueId> results(outputs, ir::kNone);
  if (!status_.ok()) return results;
  ir::Node node;
  node.name = str_cat(prefix_, '/', type);
  node.op_type = std::string(type);
  node.since_version = ops::schema_since_version("", type, opset_);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  if (node.since_version == 0) {
    status_ = unsupported("the lowering needs operator ", type, ", which opset ", opset_, " does not have");
    return results;
  }
  // Placeholders: inference only needs to know which outputs are used.
  node.outputs.assign(outputs, 0);
  ops::InferInputs known;
  for (const ir::ValueId input : node.inputs) {
    known.types.push_back(input == ir::kNone ? nullptr : &graph_.value(input).type);
    known.values.push_back(input == ir::kNone ? nullptr : graph_.value(input).constant.get());
  }
  Result<std::vector<ir::Type>> types = ops::infer_node(node, known);
  if (!types.ok()) {
    status_ = types.status();
    return results;
  }
  for (size_t i = 0; i < outputs; ++i) {
    if (into_ != ir::kNone) {
      results[i] = std::exchange(into_, ir::kNone);
    } else {
      results[i] = graph_.add_value(node.name, (*types)[i]);
    }
    node.outputs[i] = results[i];
  }
  graph_.add_node(std::move(node));
  return results;
}

ir::ValueId Emitter::constant(ir::TensorPtr value) {
  if (value == nullptr) {
    if (status_.ok()) status_ = unsupported("the operand must have a known floating-point type");
    return ir::kNone;
  }
  return graph_.add_constant(str_cat(prefix_, "/constant"), std::move(value));
}

ir::ValueId Emitter::ints(const std::vector<int64_t>& values) {
  return constant(ir::Tensor::of_ints(values));
}

ir::ValueId Emitter::scalar(ir::ElementType type, double value) {
  return constant(from_doubles(type, {}, {value}));
}

ir::ValueId Emitter::unsqueeze(ir::ValueId x, const std::vector<int64_t>& axes) {
  if (opset_ < 13) return op("Unsqueeze", {x}, {ir::Attribute::of_ints("axes", axes)});
  return op("Unsqueeze", {x, ints(axes)});
}

ir::ValueId Emitter::squeeze(ir::ValueId x, const std::vector<int64_t>& axes) {
  if (opset_ < 13) return op("Squeeze", {x}, {ir::Attribute::of_ints("axes", axes)});
  return op("Squeeze", {x, ints(axes)});
}

ir::ValueId Emitter::reduce(std::string_view type, ir::ValueId x, const std::vector<int64_t>& axes,
                            bool keep) {
  const ir::Attribute keepdims = ir::Attribute::of_int("keepdims", keep ? 1 : 0);
  if (opset_ < (type == "ReduceSum" ? 13 : 18))
    return op(type, {x}, {ir::Attribute::of_ints("axes", axes), keepdims});
  return op(type, {x, ints(axes)}, {keepdims});
}

ir::ValueId Emitter::slice(ir::ValueId x, int64_t axis, int64_t begin, int64_t end) {
  if (opset_ < 10) {
    return op("Slice", {x},
              {ir::Attribute::of_ints("axes", {axis}), ir::Attribute::of_ints("starts", {begin}),
               ir::Attribute::of_ints("ends", {end})});
  }
  return op("Slice", {x, ints({begin}), ints({end}), ints({axis})});
}

std::vector<ir::ValueId> Emitter::split(ir::ValueId x, int64_t axis, const std::vector<int64_t>& sizes) {
  const ir::Attribute along = ir::Attribute::of_int("axis", axis);
  if (opset_ < 13) return ops("Split", {x}, sizes.size(), {along, ir::Attribute::of_ints("split", sizes)});
  return ops("Split", {x, ints(sizes)}, sizes.size(), {along});
}

ir::ValueId Emitter::transpose(ir::ValueId x, std::vector<int64_t> perm) {
  return op("Transpose", {x}, {ir::Attribute::of_ints("perm", std::move(perm))});
}

ir::ValueId Emitter::reshape(ir::ValueId x, const std::vector<int64_t>& dims) {
  if (opset_ < 5) return op("Reshape", {x}, {ir::Attribute::of_ints("shape", dims)});
  return op("Reshape", {x, ints(dims)});
}

ir::ValueId Emitter::cast(ir::ValueId x, ir::ElementType type) {
  if (x != ir::kNone && this->type(x).element == type && into_ == ir::kNone) return x;
  return op("Cast", {x}, {ir::Attribute::of_int("to", static_cast<int64_t>(type))});
}

}  // namespace tenon::transform
