#include <algorithm>

#include "core/ops/infer.h"

namespace tenon::ops {

namespace {

bool any_type_unknown(const std::vector<InputView>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const InputView& input) {
    return input.given && (input.type == nullptr || input.type->kind == ir::ValueKind::kUnknown ||
                           (input.type->is_tensor() && input.type->element == ir::ElementType::kUndefined));
  });
}

/// A copy of the node with attribute references replaced by their values.
ir::Node with_own_attributes(const ir::Node& node, const AttributeValues& values) {
  ir::Node copy = node;
  copy.attributes.clear();
  for (const ir::Attribute& attribute : node.attributes) {
    const ir::Attribute* effective = effective_attribute(node, attribute.name, &values);
    if (effective == nullptr) continue;
    copy.attributes.push_back(*effective);
    copy.attributes.back().name = attribute.name;
  }
  return copy;
}

Status infer_by_rule(InferRule rule, const ir::Node& node, const std::vector<InputView>& inputs,
                     const AttributeValues* attributes, std::vector<ir::Type>& out) {
  InferInputs plain;
  for (const InputView& input : inputs) {
    plain.types.push_back(input.type);
    plain.values.push_back(input.value);
  }
  return attributes == nullptr ? rule(node, plain, out)
                               : rule(with_own_attributes(node, *attributes), plain, out);
}

}  // namespace

Status infer_operator_node(const Operator& op, const ir::Node& node, const std::vector<InputView>& inputs,
                           const AttributeValues* attributes, const InferBody& infer_body, bool check_types,
                           std::vector<ir::Type>& out) {
  RETURN_IF_ERROR(check_required_inputs(op, inputs));
  BoundTypes bound;
  if (check_types) RETURN_IF_ERROR(check_input_types(op, inputs, bound));
  Status status;
  if (op.rule != nullptr) {
    status = infer_by_rule(op.rule, node, inputs, attributes, out);
  } else if (op.infer()) {
    // ONNX expects at least as many inputs as the schema requires, even missing ones: Loop subtracts 2 from their
    // number.
    std::vector<InputView> all = inputs;
    if (op.schema() != nullptr)
      all.resize(std::max(all.size(), static_cast<size_t>(op.schema()->min_input())));
    status = run_onnx_inference(op.infer(), node, all, attributes, infer_body, out);
  }
  if (!status.ok() && status.kind() == ErrorKind::kInvalidModel && !node.has_subgraph() &&
      any_type_unknown(inputs)) {
    out.assign(out.size(), ir::Type());  // after a custom operator nothing is known, so nothing is wrong
    status = ok_status();
  }
  RETURN_IF_ERROR(std::move(status));
  const bool open = std::any_of(out.begin(), out.end(), [](const ir::Type& type) {
    return type.kind == ir::ValueKind::kUnknown ||
           (type.is_tensor() && type.element == ir::ElementType::kUndefined);
  });
  if (open && op.schema() != nullptr) {
    if (!check_types) RETURN_IF_ERROR(check_input_types(op, inputs, bound));
    fill_output_types(op, bound, out);
  }
  return check_output_shapes(out);
}

Status infer_as(std::string_view name, int since, const ir::Node& node, const InferInputs& inputs,
                std::vector<ir::Type>& out) {
  const Operator* op = find_operator("", name, since);
  if (op == nullptr || !op->infer()) return internal_error("no inference for ", name, "-", since);
  std::vector<InputView> views(inputs.types.size());
  for (size_t i = 0; i < views.size(); ++i) {
    views[i].given = inputs.types[i] != nullptr;
    views[i].type = inputs.types[i];
    views[i].value = i < inputs.values.size() ? inputs.values[i] : nullptr;
  }
  return run_onnx_inference(op->infer(), node, views, nullptr, nullptr, out);
}

}  // namespace tenon::ops
