#include "host/operators/app_operator.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/error_struct.h"
#include "host/device/shared_copies.h"
#include "host/operators/call.h"

namespace tenon::operators {
namespace {

using runtime::TypeInfo;
using InferFn = decltype(tenon_operator::infer);

std::string_view view(tenon_str text) { return {text.data, text.data == nullptr ? 0 : text.size}; }

Status check_text(tenon_str text, std::string_view name) {
  return text.data != nullptr || text.size == 0
             ? ok_status()
             : invalid_input(name, " is NULL, but its size is ", text.size, " bytes");
}

/// Asks the application for the types of a node's outputs.
Result<std::vector<ir::Type>> call_infer(const AppOperator& op, InferFn infer, const ir::Node& node,
                                         const ops::InferInputs& given) {
  const NodeFacts facts(node.name, node.domain, node.op_type, op.since_version, node.attributes);
  std::vector<TypeInfo> inputs, outputs(node.outputs.size());
  std::vector<std::shared_ptr<const runtime::Copy>> copies;
  Borrowed borrowed("input");
  std::vector<tenon_value*> values;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ir::Type* type = i < given.types.size() ? given.types[i] : nullptr;
    const ir::Tensor* tensor = i < given.values.size() ? given.values[i] : nullptr;
    inputs.emplace_back(type == nullptr ? ir::Type() : *type);
    values.push_back(nullptr);
    if (tensor == nullptr) {
      borrowed.skip();
    } else {
      ASSIGN_OR_RETURN(const tenon_tensor described, runtime::describe_aligned(*tensor, &copies));
      ASSIGN_OR_RETURN(values.back(), borrowed.wrap(described, true));
    }
  }
  std::vector<ir::Type> out(node.outputs.size());
  tenon_operator_call call;
  call.node = &facts;
  call.inputs = inputs;
  call.outputs = outputs;
  call.values = values;
  call.inferred = &out;
  tenon_error error = make_error();
  const tenon_status status = infer(op.context, &call, &error);
  if (status != TENON_OK) return failed(status, error);
  RETURN_IF_ERROR(borrowed.check_given_back());
  return out;
}

Status check_attribute(const tenon_operator_attribute& attribute) {
  RETURN_IF_ERROR(check_text(attribute.name, "an attribute's name"));
  if (attribute.name.size == 0) return invalid_input("an attribute's name is empty");
  if (attribute.required > 1)
    return invalid_input("required of attribute '", view(attribute.name), "' is ", attribute.required,
                         "; it must be 0 or 1");
  switch (attribute.type) {
    case TENON_ATTR_FLOAT:
    case TENON_ATTR_INT:
    case TENON_ATTR_STRING:
    case TENON_ATTR_TENSOR:
    case TENON_ATTR_FLOATS:
    case TENON_ATTR_INTS:
    case TENON_ATTR_STRINGS:
    case TENON_ATTR_TENSORS:
      return ok_status();
    default:
      return invalid_input("type of attribute '", view(attribute.name), "' is ", attribute.type,
                           "; it must be that of a number, a string, a tensor or a list of them");
  }
}

Status check(const tenon_operator& given) {
  constexpr uint32_t kFlags = TENON_OPERATOR_ANY_ATTRIBUTE | TENON_OPERATOR_KEEPS_INPUTS;
  if ((given.flags & ~kFlags) != 0) return invalid_input("flags of op has unknown bits: ", given.flags);
  RETURN_IF_ERROR(check_text(given.domain, "domain of op"));
  RETURN_IF_ERROR(check_text(given.name, "name of op"));
  if (given.name.size == 0) return invalid_input("name of op is empty");
  if (given.since_version < 1)
    return invalid_input("since_version of op is ", given.since_version, "; it must be 1 or more");
  if (given.min_inputs > given.max_inputs)
    return invalid_input("min_inputs of op is ", given.min_inputs, ", above max_inputs, ", given.max_inputs);
  if (given.min_outputs > given.max_outputs)
    return invalid_input("min_outputs of op is ", given.min_outputs, ", above max_outputs, ",
                         given.max_outputs);
  if (given.attributes == nullptr && given.attribute_count != 0)
    return invalid_input("attributes of op is NULL, but attribute_count is ", given.attribute_count);
  for (uint32_t i = 0; i < given.attribute_count; ++i) RETURN_IF_ERROR(check_attribute(given.attributes[i]));
  if (given.infer == nullptr) return invalid_input("infer of op is NULL");
  if (given.run == nullptr) return invalid_input("run of op is NULL");
  if (given.destroy != nullptr && given.create == nullptr)
    return invalid_input("op has destroy, but create is NULL");
  return ok_status();
}

size_t bound(uint32_t count) { return count == UINT32_MAX ? SIZE_MAX : count; }

}  // namespace

AppOperator::~AppOperator() {
  if (free_fn != nullptr) free_fn(context);
}

Result<std::shared_ptr<AppOperator>> make_operator(const tenon_operator& given) {
  RETURN_IF_ERROR(check(given));
  auto op = std::make_shared<AppOperator>();
  op->domain = view(given.domain) == "ai.onnx" ? "" : std::string(view(given.domain));
  op->name = view(given.name);
  op->since_version = given.since_version;
  op->min_inputs = given.min_inputs;
  op->max_inputs = bound(given.max_inputs);
  op->min_outputs = given.min_outputs;
  op->max_outputs = bound(given.max_outputs);
  op->any_attribute = (given.flags & TENON_OPERATOR_ANY_ATTRIBUTE) != 0;
  op->keeps_inputs = (given.flags & TENON_OPERATOR_KEEPS_INPUTS) != 0;
  for (uint32_t i = 0; i < given.attribute_count; ++i) {
    const tenon_operator_attribute& from = given.attributes[i];
    const auto is_same = [&](const auto& rule) { return rule.name == view(from.name); };
    if (std::any_of(op->attributes.begin(), op->attributes.end(), is_same))
      return invalid_input("attribute '", view(from.name), "' is in the list twice");
    op->attributes.push_back(
        {std::string(view(from.name)), static_cast<ir::AttributeType>(from.type), from.required != 0});
  }
  op->context = given.context;
  op->create = given.create;
  op->destroy = given.destroy;
  op->run = given.run;
  op->infer = [self = op.get(), infer = given.infer](const ir::Node& node, const ops::InferInputs& inputs) {
    return call_infer(*self, infer, node, inputs);
  };
  return op;
}

}  // namespace tenon::operators
