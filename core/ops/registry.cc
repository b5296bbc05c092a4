#include "core/ops/registry.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <unordered_map>

// The classes by which ONNX's library identifies its schemas.
namespace tenon_onnx {
#define TENON_OPERATOR(set, version, name) class name##_##set##_ver##version;
#include "tenon_onnx/operators.inc"
#undef TENON_OPERATOR
}  // namespace tenon_onnx

namespace tenon::ops {

namespace {

struct KnownOperator {
  std::string_view set, name;
  int since;
  Operator::MakeSchema make;
};

const KnownOperator kKnownOperators[] = {
#define TENON_OPERATOR(set, version, name) \
  {#set, #name, version, &pb::GetOpSchema<pb::name##_##set##_ver##version>},
#include "tenon_onnx/operators.inc"
#undef TENON_OPERATOR
};

std::string_view domain_of(const KnownOperator& known) {
  if (known.set == "Onnx") return "";
  if (known.set == "OnnxML") return "ai.onnx.ml";
  // This set has two domains; only FlexAttention is in ai.onnx.preview.
  return known.name == "FlexAttention" ? "ai.onnx.preview" : "ai.onnx.preview.training";
}

struct Key {
  std::string_view domain, name;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    const std::hash<std::string_view> hash;
    return hash(key.name) * 31 + hash(key.domain);
  }
};

class Registry {
 public:
  static const Registry& instance() {
    static const Registry registry;
    return registry;
  }

  /// All versions, oldest first; null when the name is unknown.
  const std::vector<const Operator*>* versions(std::string_view domain, std::string_view name) const {
    const auto found = table_.find(Key{domain, name});
    return found == table_.end() ? nullptr : &found->second;
  }

  const std::deque<Operator>& operators() const { return operators_; }

  template <class Function>
  void for_each_name(std::string_view domain, const Function& function) const {
    for (const auto& entry : table_) {
      if (entry.first.domain == domain) function(entry.first.name);
    }
  }

 private:
  Registry() {
    for (const KnownOperator& known : kKnownOperators) {
      Operator& added = add(domain_of(known), known.name, known.since, known.make);
      added.rule = early_rule(added.name, added.since);
    }
    for (const OwnOperator& own : own_operators()) {
      Operator& added = add(own.domain, own.name, 1, nullptr);
      added.own = &own;
      added.rule = own.infer;
    }
    for (auto& entry : table_) {
      std::sort(entry.second.begin(), entry.second.end(),
                [](const Operator* a, const Operator* b) { return a->since < b->since; });
    }
  }

  Operator& add(std::string_view domain, std::string_view name, int since, Operator::MakeSchema make) {
    Operator& added = operators_.emplace_back(domain, name, since, make);
    table_[Key{domain, name}].push_back(&added);
    return added;
  }

  std::deque<Operator> operators_;
  std::unordered_map<Key, std::vector<const Operator*>, KeyHash> table_;
};

/// The element type number of "tensor(float)"; 0 for anything else.
uint32_t tensor_element(const std::string& type) {
  const pb::TypeProto& proto = pb::Utils::DataTypeUtils::ToTypeProto(&type);
  return proto.has_tensor_type() ? static_cast<uint32_t>(proto.tensor_type().elem_type()) : 0;
}

ParameterTypes parameter_types(const pb::OpSchema::FormalParameter& parameter,
                               std::vector<std::string>& variables) {
  ParameterTypes types;
  for (const pb::DataType type : parameter.GetTypes()) {
    const uint32_t element = tensor_element(*type);
    if (element != 0) {
      types.tensors |= uint64_t{1} << element;
    } else {
      types.others.push_back(*type);
    }
  }
  if (parameter.GetIsHomogeneous()) {
    const auto found = std::find(variables.begin(), variables.end(), parameter.GetTypeStr());
    types.variable = static_cast<int>(found - variables.begin());
    if (found == variables.end()) variables.push_back(parameter.GetTypeStr());
  }
  return types;
}

}  // namespace

const pb::OpSchema* Operator::schema() const {
  if (make_ == nullptr) return nullptr;
  std::call_once(schema_once_, [this] {
    auto made = std::make_unique<pb::OpSchema>(make_());
    made->Finalize();
    if (made->has_type_and_shape_inference_function()) infer_ = made->GetTypeAndShapeInferenceFunction();
    schema_ = std::move(made);
  });
  return schema_.get();
}

const pb::InferenceFunction& Operator::infer() const {
  schema();
  return infer_;
}

bool Operator::has_function_body() const {
  const pb::OpSchema* known = schema();
  return known != nullptr && (known->HasFunction() || known->HasContextDependentFunction());
}

const TypeRules& Operator::types() const {
  std::call_once(types_once_, [this] {
    TypeRules types;  // stored when complete: if memory runs out here, the next call starts again
    std::vector<std::string> variables;
    for (const auto& input : schema()->inputs()) types.inputs.push_back(parameter_types(input, variables));
    for (const auto& output : schema()->outputs())
      types.outputs.push_back(parameter_types(output, variables));
    types.variable_count = static_cast<int>(variables.size());
    types_ = std::move(types);
  });
  return types_;
}

std::string_view canonical_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

bool is_standard_domain(std::string_view domain) {
  domain = canonical_domain(domain);
  return domain.empty() || domain == "ai.onnx.ml" || domain == "ai.onnx.training" ||
         domain == "ai.onnx.preview" || domain == "ai.onnx.preview.training";
}

const Operator* find_operator(std::string_view domain, std::string_view name, int64_t opset) {
  const auto* versions = Registry::instance().versions(canonical_domain(domain), name);
  if (versions == nullptr) return nullptr;
  const Operator* best = nullptr;
  for (const Operator* version : *versions) {
    if (version->since <= opset) best = version;
  }
  return best;
}

const Operator* find_operator(const ir::Node& node) {
  if (node.since_version <= 0) return nullptr;
  const Operator* found = find_operator(node.domain, node.op_type, node.since_version);
  return found != nullptr && found->since == node.since_version ? found : nullptr;
}

std::vector<std::string_view> operator_names(std::string_view domain) {
  std::vector<std::string_view> names;
  Registry::instance().for_each_name(canonical_domain(domain),
                                     [&](std::string_view name) { names.push_back(name); });
  std::sort(names.begin(), names.end());
  return names;
}

Status check_own_inputs(const OwnOperator& own, const std::function<bool(size_t)>& is_given) {
  for (size_t i = 0; i < static_cast<size_t>(own.min_inputs); ++i) {
    const bool may_be_empty = (own.may_be_empty >> i & 1) != 0;
    if (!may_be_empty && !is_given(i))
      return invalid_model("operator ", own.domain, own.domain.empty() ? "" : ".", own.name,
                           "-1 needs its input ", i, ", which is missing");
  }
  return ok_status();
}

std::vector<OperatorVersion::AttributeRule> attribute_rules(const OwnOperator& own) {
  static constexpr std::pair<std::string_view, ir::AttributeType> kTypes[] = {
      {"", ir::AttributeType::kInt},      {"f", ir::AttributeType::kFloat},
      {"s", ir::AttributeType::kString},  {"g", ir::AttributeType::kGraph},
      {"is", ir::AttributeType::kInts},   {"fs", ir::AttributeType::kFloats},
      {"ss", ir::AttributeType::kStrings}};
  std::vector<OperatorVersion::AttributeRule> rules;
  for (std::string_view rest = own.attributes; !rest.empty();) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const bool required = word.ends_with('!');
    if (required) word.remove_suffix(1);
    const size_t colon = std::min(word.find(':'), word.size());
    const std::string_view type = colon < word.size() ? word.substr(colon + 1) : std::string_view();
    for (const auto& [letters, meant] : kTypes) {
      if (letters == type) rules.push_back({std::string(word.substr(0, colon)), meant, required});
    }
  }
  return rules;
}

std::vector<OperatorVersion> all_operators() {
  std::vector<OperatorVersion> out;
  for (const Operator& op : Registry::instance().operators()) {
    OperatorVersion version{op.domain, op.name, op.since, 0, 0, 0, {}, {}};
    if (op.own != nullptr) {
      version.min_inputs = static_cast<size_t>(op.own->min_inputs);
      version.max_inputs = static_cast<size_t>(op.own->max_inputs);
      version.max_outputs = static_cast<size_t>(op.own->max_outputs);
      version.attributes = attribute_rules(*op.own);
    } else {
      const pb::OpSchema& schema = *op.schema();
      version.min_inputs = static_cast<size_t>(schema.min_input());
      version.max_inputs = static_cast<size_t>(schema.max_input());
      version.max_outputs = static_cast<size_t>(schema.max_output());
      for (const auto& input : schema.inputs())
        version.needs_input.push_back(input.GetOption() == pb::OpSchema::Single);
      for (const auto& [name, attribute] : schema.attributes())
        version.attributes.push_back(
            {name, static_cast<ir::AttributeType>(attribute.type), attribute.required});
    }
    out.push_back(std::move(version));
  }
  std::sort(out.begin(), out.end(), [](const OperatorVersion& a, const OperatorVersion& b) {
    return std::tie(a.domain, a.name, a.since) < std::tie(b.domain, b.name, b.since);
  });
  return out;
}

int64_t opset_of(const std::map<std::string, int64_t>& imports, std::string_view domain) {
  auto found = imports.find(std::string(domain));
  if (found == imports.end() && domain.empty()) found = imports.find("ai.onnx");
  if (found == imports.end() && domain == "ai.onnx") found = imports.find("");
  return found == imports.end() ? 0 : found->second;
}

}  // namespace tenon::ops
