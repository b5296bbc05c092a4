#include <optional>
#include <set>

#include "core/base/nearest.h"
#include "core/base/quote.h"
#include "core/ops/control_flow.h"
#include "core/ops/registered.h"
#include "core/ops/registry.h"

namespace tenon::ops {

namespace {

struct NameKey {
  std::string_view domain, name, overload;
  auto operator<=>(const NameKey&) const = default;
};

/// "operator Conv-11", "operator com.acme.Fft-1".
std::string operator_label(const Operator& op) {
  return str_cat("operator ", op.domain, op.domain.empty() ? "" : ".", op.name, "-", op.since);
}

size_t count_given(const std::vector<ir::ValueId>& values) {
  size_t count = values.size();
  while (count > 0 && values[count - 1] == ir::kNone) --count;
  return count;
}

Status check_count(const Operator& op, const char* what, size_t given, int least, int most) {
  if (static_cast<int64_t>(given) >= least && static_cast<int64_t>(given) <= most) return ok_status();
  std::string range = str_cat("at most ", most);
  if (most >= INT32_MAX) {
    range = str_cat("at least ", least);
  } else if (least == most) {
    range = str_cat(least);
  } else if (least > 0) {
    range = str_cat(least, " to ", most);
  }
  return invalid_model(operator_label(op), " takes ", range, ' ', what, ", the node has ", given);
}

Status check_arity(const ir::Node& node, const Operator& op) {
  const pb::OpSchema& schema = *op.schema();
  RETURN_IF_ERROR(
      check_count(op, "inputs", count_given(node.inputs), schema.min_input(), schema.max_input()));
  // Any output may be left out.
  RETURN_IF_ERROR(check_count(op, "outputs", count_given(node.outputs), 0, schema.max_output()));
  const auto& formal = schema.inputs();
  for (size_t i = 0; i < node.inputs.size() && i < formal.size(); ++i) {
    if (node.inputs[i] == ir::kNone && formal[i].GetOption() == pb::OpSchema::Single) {
      return invalid_model(operator_label(op), " needs its input ", i, " ('", formal[i].GetName(),
                           "'), which the node leaves empty");
    }
  }
  return ok_status();
}

/// The attributes that an operator declares, in ONNX's schema or in our own table.
class AttributeTable {
 public:
  explicit AttributeTable(const Operator& op) : op_(op) {
    if (op.own != nullptr) own_ = attribute_rules(*op.own);
  }

  std::optional<ir::AttributeType> type_of(const std::string& name) const {
    std::optional<ir::AttributeType> type;
    if (op_.own == nullptr) {
      const auto& known = op_.schema()->attributes();
      const auto found = known.find(name);
      if (found != known.end()) type = static_cast<ir::AttributeType>(found->second.type);
      return type;
    }
    for (const auto& rule : own_) {
      if (rule.name == name) type = rule.type;
    }
    return type;
  }
  /// Passes each name and whether the attribute is required.
  template <class Function>
  void each(Function&& function) const {
    for (const auto& rule : own_) function(rule.name, rule.required);
    if (op_.own != nullptr) return;
    for (const auto& [name, attribute] : op_.schema()->attributes()) function(name, attribute.required);
  }

 private:
  const Operator& op_;
  std::vector<OperatorVersion::AttributeRule> own_;
};

Status check_attribute(const ir::Attribute& attribute, const Operator& op, const AttributeTable& table) {
  const std::optional<ir::AttributeType> expected = table.type_of(attribute.name);
  if (!expected) {
    // Two underscores mark names private to a tool; ONNX says to ignore them.
    if (attribute.name.size() >= 2 && attribute.name[0] == '_' && attribute.name[1] == '_')
      return ok_status();
    Nearest near(attribute.name);
    table.each([&](const std::string& name, bool) { near.look_at(name); });
    return invalid_model(
        operator_label(op), " has no attribute ", quote(attribute.name),
        near.name().empty() ? std::string() : str_cat("; did you mean '", near.name(), "'?"));
  }
  const bool untyped_reference =
      !attribute.reference.empty() && attribute.type == ir::AttributeType::kUndefined;
  if (attribute.type != *expected && !untyped_reference) {
    return invalid_model("attribute '", attribute.name, "' of ", operator_label(op), " must be of type ",
                         ir::attribute_type_name(*expected), ", not ",
                         ir::attribute_type_name(attribute.type));
  }
  return ok_status();
}

Status check_attributes(const ir::Node& node, const Operator& op) {
  const AttributeTable table(op);
  std::set<std::string_view> seen;
  for (const ir::Attribute& attribute : node.attributes) {
    if (!seen.insert(attribute.name).second) {
      return invalid_model("attribute ", quote(attribute.name), " is given twice; keep one");
    }
    RETURN_IF_ERROR(check_attribute(attribute, op, table));
  }
  Status status = ok_status();
  table.each([&](const std::string& name, bool required) {
    if (!status.ok() || !required || seen.count(name) != 0) return;
    status =
        invalid_model(operator_label(op), " needs its attribute '", name, "', which the node does not have");
  });
  return status;
}

class Resolver {
 public:
  Resolver(const std::vector<ir::Function>& functions, const RegisteredOperators* registered)
      : registered_(registered) {
    for (const ir::Function& function : functions) {
      functions_[{canonical_domain(function.domain), function.name, function.overload}] = &function;
    }
  }

  Status run(ir::Graph& graph, const std::map<std::string, int64_t>& imports) {
    imports_ = &imports;
    return run(graph);
  }

 private:
  Status run(ir::Graph& graph) const {
    for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
      if (!graph.has_node(id)) continue;
      ir::Node& node = graph.mutable_node(id);
      Status status = resolve_node(node);
      if (!status.ok()) return std::move(status).with_context(node.label());
      for (ir::Attribute& attribute : node.attributes) {
        for (ir::GraphBox& body : attribute.graphs) {
          status = run(*body);
          if (!status.ok()) return std::move(status).with_context(node.label());
        }
      }
    }
    return ok_status();
  }

  Status resolve_node(ir::Node& node) const {
    node.since_version = 0;
    const auto function = functions_.find({canonical_domain(node.domain), node.op_type, node.overload});
    if (function != functions_.end()) return check_call(node, *function->second);
    if (registered_ != nullptr) {
      ASSIGN_OR_RETURN(const bool is_registered, resolve_registered(*registered_, *imports_, &node));
      if (is_registered) return ok_status();
    }
    const int64_t opset = opset_of(*imports_, node.domain);
    if (!is_standard_domain(node.domain)) return resolve_foreign(node);
    if (opset == 0) {
      return invalid_model("the model imports no version of domain '",
                           node.domain.empty() ? "ai.onnx" : node.domain, "', which operator ", node.op_type,
                           " belongs to; add it to opset_import");
    }
    const int64_t latest = latest_opset(node.domain);
    if (opset > latest) {
      return unsupported("opset ", opset, " of domain '", node.domain.empty() ? "ai.onnx" : node.domain,
                         "' is newer than ", latest,
                         ", the newest that this Tenon knows; convert the model to opset ", latest);
    }
    const Operator* op = find_operator(node.domain, node.op_type, opset);
    if (op == nullptr) return unknown_operator(node, opset);
    const bool deprecated = op->schema() != nullptr && op->schema()->deprecated();
    if (deprecated && !op->has_function_body()) {
      return unsupported(operator_label(*op), " was removed in opset ", op->since, "; the model imports ",
                         opset, ": convert it to the operator's successor");
    }
    node.since_version = op->since;
    if (op->own != nullptr) return check_own(node, *op);
    RETURN_IF_ERROR(check_arity(node, *op));
    RETURN_IF_ERROR(check_attributes(node, *op));
    return check_bodies(node);
  }

  static Status resolve_foreign(ir::Node& node) {
    const Operator* op = find_operator(node.domain, node.op_type, 1);
    if (op == nullptr) return ok_status();  // a provider may know it
    node.since_version = op->since;
    RETURN_IF_ERROR(check_own(node, *op));
    return check_bodies(node);
  }

  static Status check_own(const ir::Node& node, const Operator& op) {
    RETURN_IF_ERROR(
        check_count(op, "inputs", count_given(node.inputs), op.own->min_inputs, op.own->max_inputs));
    RETURN_IF_ERROR(check_own_inputs(
        *op.own, [&](size_t i) { return i < node.inputs.size() && node.inputs[i] != ir::kNone; }));
    RETURN_IF_ERROR(check_count(op, "outputs", count_given(node.outputs), 0, op.own->max_outputs));
    return check_attributes(node, op);
  }

  static Status check_call(const ir::Node& node, const ir::Function& function) {
    const size_t inputs = count_given(node.inputs), outputs = count_given(node.outputs);
    if (inputs > function.body.inputs().size()) {
      return invalid_model("function '", function.name, "' takes ", function.body.inputs().size(),
                           " inputs, the call has ", inputs);
    }
    if (outputs > function.body.outputs().size()) {
      return invalid_model("function '", function.name, "' gives ", function.body.outputs().size(),
                           " outputs, the call has ", outputs);
    }
    return ok_status();  // an attribute that the call lacks is also missing in the body
  }

  static Status unknown_operator(const ir::Node& node, int64_t opset) {
    const Operator* later = find_operator(node.domain, node.op_type, INT32_MAX);
    const std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
    if (later != nullptr) {
      return unsupported("operator ", printable(node.op_type), " was added to domain '", domain,
                         "' after opset ", opset, ", which the model imports; raise the model's opset");
    }
    const std::string near = nearest_op(node.domain, node.op_type);
    return unsupported("domain '", domain, "' has no operator ", printable(node.op_type),
                       near.empty() ? std::string() : str_cat("; the nearest name is ", near));
  }

  const RegisteredOperators* registered_;
  const std::map<std::string, int64_t>* imports_ = nullptr;
  std::map<NameKey, const ir::Function*> functions_;
};

}  // namespace

int schema_since_version(std::string_view domain, std::string_view op_type, int64_t opset) {
  const Operator* op = find_operator(domain, op_type, opset);
  return op == nullptr ? 0 : op->since;
}

int64_t latest_opset(std::string_view domain) {
  const auto& versions = pb::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto found = versions.find(std::string(canonical_domain(domain)));
  return found == versions.end() ? 0 : found->second.second;
}

std::string nearest_op(std::string_view domain, std::string_view op_type) {
  return nearest_name(op_type, operator_names(domain));
}

Status resolve(ir::Graph& graph, const std::map<std::string, int64_t>& opset_imports,
               const std::vector<ir::Function>& functions, const RegisteredOperators* registered) {
  return Resolver(functions, registered).run(graph, opset_imports);
}

Status resolve(ir::Model& model, const RegisteredOperators* registered) {
  Resolver resolver(model.functions, registered);
  RETURN_IF_ERROR(resolver.run(model.graph, model.opset_imports));
  for (ir::Function& function : model.functions) {
    Status status = resolver.run(function.body, function.opset_imports);
    if (!status.ok()) return std::move(status).with_context("function " + quote(function.name));
  }
  return ok_status();
}

bool is_control_flow(const ir::Node& node) {
  if (is_search(node)) return true;
  return canonical_domain(node.domain).empty() && (node.op_type == "If" || node.op_type == "Loop" ||
                                                   node.op_type == "Scan" || node.op_type == "SequenceMap");
}

namespace {

bool any_nondeterministic(const ir::Graph& graph) {
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    if (graph.has_node(id) && is_nondeterministic(graph.node(id))) return true;
  }
  return false;
}

}  // namespace

bool is_nondeterministic(const ir::Node& node) {
  // Functions that are not inlined yet and custom operators may do anything.
  if (node.since_version == 0 || node.registered != nullptr) return true;
  if (canonical_domain(node.domain).empty()) {
    for (const std::string_view name : {"RandomNormal", "RandomNormalLike", "RandomUniform",
                                        "RandomUniformLike", "Multinomial", "Bernoulli"}) {
      if (node.op_type == name) return true;
    }
    // The third input switches training on. Before opset 12 the operator is the identity at inference.
    if (node.op_type == "Dropout") {
      return node.since_version >= 12 && node.inputs.size() > 2 && node.inputs[2] != ir::kNone;
    }
  }
  for (const ir::Attribute& attribute : node.attributes) {
    for (const ir::GraphBox& body : attribute.graphs) {
      if (any_nondeterministic(*body)) return true;
    }
  }
  return false;
}

}  // namespace tenon::ops
