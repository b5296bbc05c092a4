// Turns the function bodies of ONNX's schemas into our functions.
#include <algorithm>

#include "core/base/quote.h"
#include "core/ir/constant.h"
#include "core/ops/failure.h"
#include "core/ops/onnx_inference.h"
#include "core/proto/attribute.h"
#include "core/proto/tensor.h"
#include "core/proto/type.h"

namespace tenon::ops {

namespace {

/// Domain of placeholder nodes for graph attributes. The schema's builder copies the nodes of a graph attribute
/// into the body. So it gets a graph with one placeholder node, and the real graph replaces that node afterwards.
constexpr char kStandInDomain[] = "tenon.stand-in";

void add_stand_in(const ir::Attribute& attribute, pb::AttributeProto* proto) {
  const ir::Graph& graph = *attribute.graphs[0];
  proto->set_name(attribute.name);
  proto->set_type(pb::AttributeProto::GRAPH);
  pb::GraphProto* stand_in = proto->mutable_g();
  pb::NodeProto* node = stand_in->add_node();
  node->set_domain(kStandInDomain);
  node->set_op_type(attribute.name);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    node->add_input(str_cat("in", i));
    stand_in->add_input()->set_name(node->input(static_cast<int>(i)));
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    node->add_output(str_cat("out", i));
    stand_in->add_output()->set_name(node->output(static_cast<int>(i)));
  }
}

/// Replaces the placeholder nodes by the real graphs.
Status replace_stand_ins(const ir::Node& call, ir::Graph& body) {
  for (ir::NodeId id = 0, end = body.node_limit(); id < end; ++id) {
    if (!body.has_node(id) || body.node(id).domain != kStandInDomain) continue;
    ir::Function part;
    part.name = body.node(id).op_type;
    part.body = *call.find(part.name)->graphs[0];
    RETURN_IF_ERROR(ir::inline_call(body, id, part));
  }
  return ok_status();
}

/// A graph that captures outer values cannot become part of a function.
bool graphs_stand_alone(const ir::Node& node) {
  for (const ir::Attribute& attribute : node.attributes) {
    for (const ir::GraphBox& graph : attribute.graphs) {
      if (!graph->captures().empty() || attribute.graphs.size() != 1) return false;
    }
  }
  return true;
}

/// Answers the questions of a body builder about the node.
class BuildContext final : public pb::FunctionBodyBuildContext {
 public:
  BuildContext(const ir::Graph& graph, const ir::Node& node) : node_(node), types_(node.inputs.size()) {
    for (const ir::Attribute& attribute : node.attributes) {
      pb::AttributeProto* proto = &attributes_[attribute.name];
      if (attribute.graphs.empty()) {
        show_attribute(attribute, proto);
      } else {
        add_stand_in(attribute, proto);
      }
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != ir::kNone) proto::write_type(graph.value(node.inputs[i]).type, &types_[i]);
    }
  }

  const pb::AttributeProto* getAttribute(const std::string& name) const override {
    const auto found = attributes_.find(name);
    return found == attributes_.end() ? nullptr : &found->second;
  }
  bool hasInput(int index) const override { return has(node_.inputs, index); }
  bool hasOutput(int index) const override { return has(node_.outputs, index); }
  const pb::TypeProto* getInputType(int index) const override {
    if (!hasInput(index)) return nullptr;
    const pb::TypeProto& type = types_[static_cast<size_t>(index)];
    return type.value_case() == pb::TypeProto::VALUE_NOT_SET ? nullptr : &type;
  }

 private:
  static bool has(const std::vector<ir::ValueId>& values, int index) {
    return index >= 0 && static_cast<size_t>(index) < values.size() &&
           values[static_cast<size_t>(index)] != ir::kNone;
  }

  const ir::Node& node_;
  std::map<std::string, pb::AttributeProto> attributes_;
  std::vector<pb::TypeProto> types_;
};

/// A graph that is being read; `around` is its outer graph, or null.
struct Scope {
  ir::Graph& graph;
  Scope* around;
};

/// The value of a name; captured when an outer graph defines it. kNone when no graph does.
ir::ValueId find_value(Scope& scope, const std::string& name) {
  const ir::ValueId found = scope.graph.find_value(name);
  if (found != ir::kNone || scope.around == nullptr) return found;
  const ir::ValueId outer = find_value(*scope.around, name);
  if (outer == ir::kNone) return ir::kNone;
  return scope.graph.add_capture(outer, name, scope.around->graph.value(outer).type);
}

Status read_graph(const pb::GraphProto& proto, Scope& scope);

Result<ir::Attribute> read_attribute(const pb::AttributeProto& proto, Scope& scope) {
  ir::Attribute attribute;
  attribute.name = proto.name();
  attribute.type = static_cast<ir::AttributeType>(proto.type());
  attribute.reference = proto.ref_attr_name();
  const auto read_body = [&](const pb::GraphProto& graph) -> Result<ir::Graph> {
    ir::Graph body;
    Scope inner{body, &scope};
    RETURN_IF_ERROR(read_graph(graph, inner));
    return body;
  };
  RETURN_IF_ERROR(
      proto::read_value(proto, {proto::read_tensor, proto::read_sparse_tensor, read_body}, &attribute));
  return attribute;
}

/// The tensor of a Constant node that has its value as an attribute; null for other nodes.
Result<ir::TensorPtr> stated_value(const pb::NodeProto& node, Scope& scope) {
  if (node.op_type() != "Constant" || node.attribute_size() != 1) return ir::TensorPtr();
  if (!node.attribute(0).ref_attr_name().empty()) return ir::TensorPtr();
  ASSIGN_OR_RETURN(const ir::Attribute attribute, read_attribute(node.attribute(0), scope));
  return ir::constant_value(attribute, kMaxInferenceBytes);
}

Status read_node(const pb::NodeProto& proto, Scope& scope) {
  ASSIGN_OR_RETURN(ir::TensorPtr constant, stated_value(proto, scope));
  if (constant != nullptr) {
    scope.graph.add_constant(proto.output(0), std::move(constant));
    return ok_status();
  }
  ir::Node node;
  node.name = proto.name();
  node.domain = std::string(canonical_domain(proto.domain()));
  node.op_type = proto.op_type();
  for (const std::string& name : proto.input()) {
    const ir::ValueId value = name.empty() ? ir::kNone : find_value(scope, name);
    if (value == ir::kNone && !name.empty()) {
      return internal_error("nothing gives value ", quote(name), " of a function body");
    }
    node.inputs.push_back(value);
  }
  for (const auto& attribute : proto.attribute()) {
    ASSIGN_OR_RETURN(ir::Attribute read, read_attribute(attribute, scope));
    node.attributes.push_back(std::move(read));
  }
  for (const std::string& name : proto.output()) {
    node.outputs.push_back(name.empty() ? ir::kNone : scope.graph.add_value(name));
  }
  scope.graph.add_node(std::move(node));
  return ok_status();
}

/// A body makes only the optional outputs that the node uses. An output that it omits in the middle becomes an
/// empty constant, which nothing reads.
Status read_outputs(const std::vector<std::string>& names, Scope& scope) {
  size_t count = names.size();
  while (count > 0 && find_value(scope, names[count - 1]) == ir::kNone) --count;
  for (size_t i = 0; i < count; ++i) {
    ir::ValueId value = find_value(scope, names[i]);
    if (value == ir::kNone) value = scope.graph.add_constant(names[i], ir::Tensor::of_ints({}));
    scope.graph.add_output(value);
  }
  return ok_status();
}

Status read_graph(const pb::GraphProto& proto, Scope& scope) {
  scope.graph.name = proto.name();
  for (const auto& input : proto.input()) {
    ASSIGN_OR_RETURN(ir::Type type, proto::read_type(input.type()));
    scope.graph.add_input(scope.graph.add_value(input.name(), std::move(type)));
  }
  for (const auto& initializer : proto.initializer()) {
    ASSIGN_OR_RETURN(ir::TensorPtr tensor, proto::read_tensor(initializer));
    scope.graph.add_constant(initializer.name(), std::move(tensor));
  }
  for (const auto& node : proto.node()) RETURN_IF_ERROR(read_node(node, scope));
  std::vector<std::string> outputs;
  for (const auto& output : proto.output()) outputs.push_back(output.name());
  return read_outputs(outputs, scope);
}

Result<ir::Function> read_function(const pb::FunctionProto& proto, const pb::OpSchema& schema) {
  ir::Function function;
  function.domain = std::string(canonical_domain(proto.domain()));
  function.name = proto.name();
  function.body.name = proto.name();
  Scope scope{function.body, nullptr};
  // The defaults of the schema take precedence over those of the proto.
  for (const auto& entry : schema.attributes()) {
    if (entry.second.default_value.type() == pb::AttributeProto::UNDEFINED) {
      function.attributes.push_back(entry.first);
      continue;
    }
    ASSIGN_OR_RETURN(ir::Attribute fallback, read_attribute(entry.second.default_value, scope));
    fallback.name = entry.first;
    function.attribute_defaults.push_back(std::move(fallback));
  }
  for (const auto& import : proto.opset_import()) {
    function.opset_imports[std::string(canonical_domain(import.domain()))] = import.version();
  }
  for (const std::string& input : proto.input()) function.body.add_input(function.body.add_value(input));
  for (const auto& node : proto.node()) RETURN_IF_ERROR(read_node(node, scope));
  RETURN_IF_ERROR(read_outputs({proto.output().begin(), proto.output().end()}, scope));
  return function;
}

/// Corrects ONNX's body of AffineGrid: its Squeeze removes every axis of length 1, but means one axis. A batch of 1
/// would be lost.
void name_squeezed_axis(pb::FunctionProto& body) {
  if (body.name() != "AffineGrid") return;
  for (auto& node : *body.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      for (auto& inner : *attribute.mutable_g()->mutable_node()) {
        if (inner.op_type() == "Squeeze" && inner.input_size() == 1) inner.add_input("one_1d");
      }
    }
  }
}

/// Adds a Cast node that makes `to` from `from`.
void add_cast(pb::FunctionProto& body, const std::string& from, const std::string& to, ir::ElementType type) {
  pb::NodeProto* cast = body.add_node();
  cast->set_op_type("Cast");
  cast->add_input(from);
  cast->add_output(to);
  pb::AttributeProto* attribute = cast->add_attribute();
  attribute->set_name("to");
  attribute->set_type(pb::AttributeProto::INT);
  attribute->set_i(static_cast<int64_t>(type));
}

/// Makes the body compute in float32: its first input is cast to that type, and its first output back to `type`.
void compute_in_float32(pb::FunctionProto& body, ir::ElementType type) {
  const std::string wide_input = body.input(0), wide_output = body.output(0);
  body.set_input(0, wide_input + "_given");
  body.set_output(0, wide_output + "_asked");
  add_cast(body, body.input(0), wide_input, ir::ElementType::kFloat32);
  for (int i = body.node_size() - 1; i > 0; --i) body.mutable_node()->SwapElements(i, i - 1);
  add_cast(body, wide_output, body.output(0), type);
}

/// Two bodies are right for float32 only. That of MeanVarianceNormalization has float32 constants. That of AffineGrid
/// rounds coordinates to the type of its input before it multiplies them, which loses digits of half floats twice.
void mend_types(const ir::Graph& graph, const ir::Node& node, pb::FunctionProto& body) {
  const bool grid = node.is("AffineGrid");
  if (!grid && !node.is("MeanVarianceNormalization")) return;
  const ir::ElementType type = graph.value(node.inputs[0]).type.element;
  if (type == ir::ElementType::kUndefined || type == ir::ElementType::kFloat32) return;
  if (!grid || type != ir::ElementType::kFloat64) compute_in_float32(body, type);
}

/// The newest version that is not newer than `opset`, otherwise the oldest. Nodes carry their own versions, so a
/// body of another opset fits into any graph.
int choose_version(const std::vector<int>& versions, int64_t opset) {
  int chosen = versions.front();
  for (const int version : versions) {
    if (version <= opset) chosen = version;
  }
  return chosen;
}

Result<ir::Function> make_body(const pb::OpSchema& schema, const ir::Graph& graph, const ir::Node& node,
                               int64_t opset) {
  if (schema.HasContextDependentFunction()) {
    const int version = choose_version(schema.context_dependent_function_opset_versions(), opset);
    pb::FunctionProto proto;
    if (schema.BuildContextDependentFunction(BuildContext(graph, node), proto, version)) {
      return read_function(proto, schema);
    }
  }
  if (schema.HasFunction()) {
    const pb::FunctionProto* proto =
        schema.GetFunction(choose_version(schema.function_opset_versions(), opset));
    if (proto != nullptr) {
      pb::FunctionProto corrected = *proto;
      name_squeezed_axis(corrected);
      mend_types(graph, node, corrected);
      return read_function(corrected, schema);
    }
  }
  return not_found("operator ", node.op_type, " has no function body for these input types and attributes");
}

/// Makes the body of CenterCropPad read its second input as int64: it mixes it with sizes, which have that type.
void widen_shape(const ir::Graph& graph, const ir::Node& node, ir::Graph& body) {
  if (!node.is("CenterCropPad") || graph.value(node.inputs[1]).type.element != ir::ElementType::kInt32)
    return;
  const ir::ValueId shape = body.inputs()[1];
  ir::Node cast;
  cast.name = "to_int64";
  cast.op_type = "Cast";
  cast.inputs = {shape};
  cast.outputs = {body.add_value(cast.name)};
  cast.attributes = {ir::Attribute::of_int("to", static_cast<int64_t>(ir::ElementType::kInt64))};
  const ir::ValueId wide = cast.outputs[0];
  const ir::NodeId id = body.add_node(std::move(cast));
  for (const ir::Use& use : std::vector<ir::Use>(body.value(shape).uses)) {
    if (use.input != ir::kNone && use.node != id) body.set_input(use.node, use.input, wide);
  }
}

}  // namespace

bool has_function_body(const ir::Node& node) {
  const Operator* op = find_operator(node);
  return op != nullptr && op->has_function_body() && !is_control_flow(node) && graphs_stand_alone(node);
}

Result<ir::Function> function_body(const ir::Graph& graph, ir::NodeId id,
                                   const std::map<std::string, int64_t>& opset_imports) {
  const ir::Node& node = graph.node(id);
  if (!has_function_body(node)) {
    return Status(not_found("operator ", node.op_type, " does not have a function body"))
        .with_context(node.label());
  }
  const pb::OpSchema& schema = *find_operator(node)->schema();
  try {
    const int64_t opset = std::max<int64_t>(opset_of(opset_imports, node.domain), node.since_version);
    Result<ir::Function> function = make_body(schema, graph, node, opset);
    if (!function.ok()) return Status(function.status()).with_context(node.label());
    widen_shape(graph, node, function->body);
    // A body in another domain uses the version of ai.onnx that the model imports.
    function->opset_imports.try_emplace("", opset_of(opset_imports, ""));
    RETURN_IF_ERROR(resolve(function->body, function->opset_imports, {}));
    // After resolve(): these nodes keep the versions that the model gave them.
    RETURN_IF_ERROR(replace_stand_ins(node, function->body));
    return function;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return status_of(error).with_context(node.label());
  }
}

}  // namespace tenon::ops
