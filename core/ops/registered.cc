#include "core/ops/registered.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/base/nearest.h"
#include "core/base/quote.h"
#include "core/ops/registry.h"
#include "core/ops/types.h"

namespace tenon::ops {
namespace {

using Rule = OperatorVersion::AttributeRule;

auto key_of(const RegisteredOperator& op) {
  return std::tuple<std::string_view, std::string_view, int>(op.domain, op.name, op.since_version);
}

size_t count_given(const std::vector<ir::ValueId>& values) {
  size_t count = values.size();
  while (count > 0 && values[count - 1] == ir::kNone) --count;
  return count;
}

Status check_count(const RegisteredOperator& op, std::string_view what, size_t given, size_t least,
                   size_t most) {
  if (given >= least && given <= most) return ok_status();
  std::string range = least == most ? str_cat(least) : str_cat(least, " to ", most);
  if (most == SIZE_MAX) range = str_cat("at least ", least);
  return invalid_model("operator ", op.label(), " takes ", range, ' ', what, ", the node has ", given);
}

Status check_attribute(const RegisteredOperator& op, const ir::Attribute& attribute) {
  for (const Rule& rule : op.attributes) {
    if (rule.name != attribute.name) continue;
    const bool untyped_reference =
        !attribute.reference.empty() && attribute.type == ir::AttributeType::kUndefined;
    if (attribute.type == rule.type || untyped_reference) return ok_status();
    return invalid_model("attribute '", rule.name, "' of operator ", op.label(), " must be of type ",
                         ir::attribute_type_name(rule.type), ", not ",
                         ir::attribute_type_name(attribute.type));
  }
  if (op.any_attribute || attribute.name.substr(0, 2) == "__") return ok_status();
  Nearest near(attribute.name);
  for (const Rule& rule : op.attributes) near.look_at(rule.name);
  return invalid_model("operator ", op.label(), " has no attribute ", quote(attribute.name),
                       near.name().empty() ? std::string() : str_cat("; did you mean '", near.name(), "'?"));
}

Status check(const RegisteredOperator& op, const ir::Node& node) {
  RETURN_IF_ERROR(check_count(op, "inputs", count_given(node.inputs), op.min_inputs, op.max_inputs));
  RETURN_IF_ERROR(check_count(op, "outputs", count_given(node.outputs), op.min_outputs, op.max_outputs));
  for (size_t i = 0; i < op.min_inputs; ++i) {
    if (node.inputs[i] == ir::kNone)
      return invalid_model("operator ", op.label(), " needs its input ", i, ", which the node leaves empty");
  }
  std::set<std::string_view> seen;
  for (const ir::Attribute& attribute : node.attributes) {
    if (!seen.insert(attribute.name).second)
      return invalid_model("attribute ", quote(attribute.name), " is given twice; keep one");
    RETURN_IF_ERROR(check_attribute(op, attribute));
  }
  for (const Rule& rule : op.attributes) {
    if (rule.required && seen.count(rule.name) == 0)
      return invalid_model("operator ", op.label(), " needs its attribute '", rule.name,
                           "', which the node does not have");
  }
  return ok_status();
}

}  // namespace

std::string RegisteredOperator::label() const {
  return str_cat(domain, domain.empty() ? "" : ".", name, "-", since_version);
}

Status RegisteredOperators::add(RegisteredOperatorPtr op) {
  if (find_operator(op->domain, op->name, INT32_MAX) != nullptr)
    return invalid_input("operator ", op->label(),
                         " is one that Tenon knows itself; register it under a domain of your own");
  const auto at = std::lower_bound(all_.begin(), all_.end(), key_of(*op),
                                   [](const auto& known, const auto& key) { return key_of(*known) < key; });
  if (at != all_.end() && key_of(**at) == key_of(*op))
    return invalid_input("operator ", op->label(), " is registered already");
  all_.insert(at, std::move(op));
  return ok_status();
}

RegisteredOperatorPtr RegisteredOperators::find(std::string_view domain, std::string_view name,
                                                int64_t opset) const {
  RegisteredOperatorPtr found;
  for (const RegisteredOperatorPtr& op : all_) {
    if (op->domain == canonical_domain(domain) && op->name == name && op->since_version <= opset) found = op;
  }
  return found;
}

RegisteredOperatorPtr RegisteredOperators::first(std::string_view domain, std::string_view name) const {
  for (const RegisteredOperatorPtr& op : all_) {
    if (op->domain == canonical_domain(domain) && op->name == name) return op;
  }
  return nullptr;
}

std::string RegisteredOperators::nearest(std::string_view domain, std::string_view name) const {
  Nearest near(name);
  for (const RegisteredOperatorPtr& op : all_) {
    if (op->domain == canonical_domain(domain)) near.look_at(op->name);
  }
  return near.name();
}

Result<bool> resolve_registered(const RegisteredOperators& operators,
                                const std::map<std::string, int64_t>& opset_imports, ir::Node* node) {
  const RegisteredOperatorPtr first = operators.first(node->domain, node->op_type);
  if (first == nullptr) return false;
  const std::string_view domain = first->domain.empty() ? std::string_view("ai.onnx") : first->domain;
  const int64_t opset = opset_of(opset_imports, node->domain);
  node->registered = operators.find(node->domain, node->op_type, opset);
  if (node->registered == nullptr)
    return unsupported("operator ", printable(node->op_type), " is registered from version ",
                       first->since_version, " of domain ", quote(domain),
                       " on, but the model imports version ", opset, "; register an earlier version");
  node->since_version = node->registered->since_version;
  RETURN_IF_ERROR(check(*node->registered, *node));
  return true;
}

Result<std::vector<ir::Type>> infer_registered(const ir::Node& node, const InferInputs& inputs,
                                               const AttributeValues* values) {
  const RegisteredOperator& op = *node.registered;
  const bool refers =
      std::any_of(node.attributes.begin(), node.attributes.end(),
                  [](const ir::Attribute& attribute) { return !attribute.reference.empty(); });
  Result<std::vector<ir::Type>> made = std::vector<ir::Type>();
  if (refers) {
    ir::Node filled = node;
    filled.attributes.clear();
    for (const ir::Attribute& attribute : node.attributes) {
      const ir::Attribute* value = effective_attribute(node, attribute.name, values);
      if (value == nullptr) continue;
      filled.attributes.push_back(*value);
      filled.attributes.back().name = attribute.name;
    }
    made = op.infer(filled, inputs);
  } else {
    made = op.infer(node, inputs);
  }
  if (!made.ok()) return made;
  made->resize(node.outputs.size());
  RETURN_IF_ERROR(check_output_shapes(*made));
  return made;
}

}  // namespace tenon::ops
