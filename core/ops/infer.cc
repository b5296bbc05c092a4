#include "core/ops/infer.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/stop.h"
#include "core/ops/registered.h"

namespace tenon::ops {

namespace {

constexpr int64_t kMaxCalledNodes = 1'000'000;  // nodes of called functions; nested calls can multiply
constexpr size_t kDeepestCall = 256;            // levels of nested calls; each takes stack

/// State that one inference shares between its graphs.
struct Environment {
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const ir::Function*> functions;
  std::vector<const ir::Function*> calls;  // the calls that are being inferred
  int64_t called_nodes = 0;
  int64_t next_symbol = 0;
  bool write = false;              // write types back to the graphs and give unnamed dimensions symbols
  bool check_types = false;        // check element types against the schemas; once per model is enough
  bool branches_may_fail = false;  // see infer_expanded

  const ir::Function* find(const ir::Node& node) const {
    if (node.since_version != 0 || functions.empty()) return nullptr;
    const auto found = functions.find({canonical_domain(node.domain), node.op_type, node.overload});
    return found == functions.end() ? nullptr : found->second;
  }
};

/// The inference walk over one graph: of the model, nested, or of a called function.
class Walk {
 public:
  Walk(Environment& environment, const ir::Graph& graph, const AttributeValues* attributes)
      : environment_(environment), graph_(graph), attributes_(attributes), types_(graph.value_limit()) {
    for (ir::ValueId id = 0; id < graph.value_limit(); ++id) {
      if (!graph.has_value(id)) continue;
      const ir::Value& value = graph.value(id);
      types_[id] = value.type;
      if (value.constant) types_[id] = ir::Type::tensor(value.constant->type(), value.constant->shape());
    }
  }

  ir::Type& type(ir::ValueId id) { return types_[id]; }
  const ir::Type& type(ir::ValueId id) const { return types_[id]; }

  ir::TensorPtr tensor(ir::ValueId id) const {
    if (graph_.value(id).constant) return graph_.value(id).constant;
    const auto found = tensors_.find(id);
    return found == tensors_.end() ? nullptr : found->second;
  }
  const Elements* elements(ir::ValueId id) {
    const auto found = elements_.find(id);
    if (found != elements_.end()) return &found->second;
    const ir::TensorPtr known = tensor(id);
    if (!known || known->dims().size() > 1) return nullptr;
    std::optional<Elements> made = Elements::from_tensor(*known);
    return made ? &(elements_[id] = std::move(*made)) : nullptr;
  }
  void set_tensor(ir::ValueId id, ir::TensorPtr value) { tensors_[id] = std::move(value); }
  void set_elements(ir::ValueId id, const Elements& value) { elements_[id] = value; }
  void set_absent(ir::ValueId id) { absent_.insert(id); }

  Status run() {
    ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph_.topological_order());
    for (const ir::NodeId id : order) {
      const ir::Node& node = graph_.node(id);
      Status status = check_stop("shapes were inferred");
      if (status.ok()) status = infer(node);
      if (!status.ok()) return std::move(status).with_context(node.label());
    }
    return ok_status();
  }

  std::vector<ir::Type> outputs() const {
    std::vector<ir::Type> out;
    for (const ir::ValueId id : graph_.outputs()) out.push_back(types_[id]);
    return out;
  }

  /// Writes the types of all values to `graph`, which must be the graph of this walk.
  void write(ir::Graph& graph) {
    for (ir::ValueId id = 0; id < graph.value_limit(); ++id) {
      if (graph.has_value(id)) graph.set_type(id, std::move(types_[id]));
    }
  }

  Inference take() {
    Inference out;
    out.values.assign(graph_.value_limit(), nullptr);
    for (ir::ValueId id = 0; id < graph_.value_limit(); ++id) {
      if (graph_.has_value(id)) out.values[id] = tensor(id);
    }
    out.types = std::move(types_);
    out.elements = std::move(elements_);
    return out;
  }

  /// Output types of a nested graph of a node here, for the given input types.
  Result<std::vector<ir::Type>> infer_nested(ir::Graph& body, const std::vector<ir::Type>& inputs) {
    if (inputs.size() > body.inputs().size() ||
        inputs.size() + body.defaults().size() < body.inputs().size()) {
      return invalid_model("body '", body.name, "' has ", body.inputs().size(),
                           " inputs, the operator gives it ", inputs.size());
    }
    Walk walk(environment_, body, attributes_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ir::ValueId id = body.inputs()[i];
      Result<ir::Type> merged = merge_types(walk.type(id), inputs[i]);
      if (!merged.ok()) {
        return invalid_model("input '", body.value(id).name, "' of body '", body.name, "' ",
                             merged.error().message(), " by the operator");
      }
      walk.type(id) = std::move(*merged);
      if (environment_.write) walk.name_dims(walk.type(id));
    }
    for (const ir::Capture& capture : body.captures()) {
      if (capture.outer >= types_.size()) continue;  // infer_node does not have the outer graph
      if (types_[capture.outer].kind != ir::ValueKind::kUnknown)
        walk.type(capture.inner) = types_[capture.outer];
      if (ir::TensorPtr known = tensor(capture.outer)) walk.set_tensor(capture.inner, std::move(known));
      if (const Elements* known = elements(capture.outer)) walk.set_elements(capture.inner, *known);
    }
    RETURN_IF_ERROR(walk.run());
    std::vector<ir::Type> out = walk.outputs();
    if (environment_.write) walk.write(body);
    return out;
  }

 private:
  std::vector<InputView> views(const ir::Node& node) {
    std::vector<InputView> inputs(node.inputs.size());
    const bool shape_arithmetic = node.domain.empty();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::ValueId id = node.inputs[i];
      if (id == ir::kNone || absent_.count(id) != 0) continue;
      inputs[i].given = true;
      inputs[i].type = &types_[id];
      inputs[i].value = tensor(id).get();
      if (inputs[i].value == nullptr && shape_arithmetic) inputs[i].elements = elements(id);
    }
    return inputs;
  }

  Status infer(const ir::Node& node) {
    const std::vector<InputView> inputs = views(node);
    std::vector<ir::Type> out(node.outputs.size());
    if (const ir::Function* function = environment_.find(node)) {
      RETURN_IF_ERROR(infer_call(*function, node, inputs, out));
    } else if (node.registered != nullptr) {
      ASSIGN_OR_RETURN(out, infer_registered(node, to_infer_inputs(inputs), attributes_));
      RETURN_IF_ERROR(infer_unknown_bodies(node));
    } else if (const Operator* op = find_operator(node)) {
      RETURN_IF_ERROR(infer_operator(*op, node, inputs, out));
      if (op->rule != nullptr) RETURN_IF_ERROR(infer_unknown_bodies(node));
    } else if (node.has_subgraph()) {
      RETURN_IF_ERROR(infer_unknown_bodies(node));
    }
    RETURN_IF_ERROR(assign(node, std::move(out)));
    propagate(node, inputs);
    return ok_status();
  }

  static InferInputs to_infer_inputs(const std::vector<InputView>& views) {
    InferInputs out;
    for (const InputView& view : views) {
      out.types.push_back(view.given ? view.type : nullptr);
      out.values.push_back(view.given ? view.value : nullptr);
    }
    return out;
  }

  Status infer_operator(const Operator& op, const ir::Node& node, const std::vector<InputView>& inputs,
                        std::vector<ir::Type>& out) {
    const bool may_fail = environment_.branches_may_fail && node.is("If");
    bool one_failed = false;
    std::vector<ir::Type> of_other;
    const InferBody infer_body = [&](ir::Graph& body,
                                     const std::vector<ir::Type>& types) -> Result<std::vector<ir::Type>> {
      Result<std::vector<ir::Type>> made = infer_nested(body, types);
      if (made.ok()) {
        of_other = *made;
      } else if (may_fail && made.status().kind() == ErrorKind::kInvalidModel) {
        one_failed = true;
        return std::vector<ir::Type>(body.outputs().size());
      }
      return made;
    };
    Status status =
        infer_operator_node(op, node, inputs, attributes_, infer_body, environment_.check_types, out);
    if (!one_failed) return status;
    of_other.resize(out.size());
    out = std::move(of_other);
    return ok_status();
  }

  Status assign(const ir::Node& node, std::vector<ir::Type> out) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ir::ValueId id = node.outputs[i];
      if (id == ir::kNone) continue;
      Result<ir::Type> merged = merge_types(types_[id], std::move(out[i]));
      if (!merged.ok()) {
        return invalid_model("output ", i, " ('", graph_.value(id).name, "') ", merged.error().message(),
                             "; correct the declared type");
      }
      types_[id] = std::move(*merged);
      if (environment_.write) name_dims(types_[id]);
    }
    return ok_status();
  }

  void name_dims(ir::Type& type) {
    for (ir::Dim& dim : type.shape.dims) {
      if (!dim.known() && dim.symbol.empty()) dim.symbol = str_cat(kFreshPrefix, environment_.next_symbol++);
    }
  }

  void propagate(const ir::Node& node, const std::vector<InputView>& inputs) {
    if (node.outputs.empty() || node.outputs[0] == ir::kNone || !propagates_elements(node)) return;
    const ir::ValueId id = node.outputs[0];
    if (node.is("Constant")) {
      const ir::Attribute* value = effective_attribute(node, "value", attributes_);
      if (value != nullptr && !value->tensors.empty()) tensors_[id] = value->tensors[0];
    }
    std::vector<ShapeInput> shapes(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].given) continue;
      shapes[i] = {inputs[i].type, elements(node.inputs[i])};
    }
    std::optional<Elements> out = propagate_elements(node, shapes, types_[id], attributes_);
    if (!out) return;
    if (ir::TensorPtr known = out->to_tensor(types_[id].element)) tensors_[id] = std::move(known);
    elements_[id] = std::move(*out);
  }

  /// Infers the bodies of an operator that ONNX does not define, from their own declarations only.
  Status infer_unknown_bodies(const ir::Node& node) {
    for (const ir::Attribute& attribute : node.attributes) {
      for (const ir::GraphBox& body : attribute.graphs) {
        const std::vector<ir::Type> nothing(body->inputs().size());
        RETURN_IF_ERROR(infer_nested(*body, nothing).status());
      }
    }
    return ok_status();
  }

  Status infer_call(const ir::Function& function, const ir::Node& node, const std::vector<InputView>& inputs,
                    std::vector<ir::Type>& out) {
    auto& calls = environment_.calls;
    if (std::find(calls.begin(), calls.end(), &function) != calls.end()) {
      return invalid_model("function '", function.name, "' calls itself; ONNX does not allow recursion");
    }
    if (calls.size() >= kDeepestCall) {
      return limit_exceeded("function '", function.name, "' is called ", kDeepestCall,
                            " functions deep, which is the limit; inline some of them");
    }
    environment_.called_nodes += static_cast<int64_t>(function.body.node_count());
    if (environment_.called_nodes > kMaxCalledNodes) {
      return limit_exceeded("the model's functions expand to more than ", kMaxCalledNodes, " nodes");
    }
    AttributeValues values;
    for (const ir::Attribute& fallback : function.attribute_defaults) values[fallback.name] = &fallback;
    for (const ir::Attribute& given : node.attributes) {
      if (const ir::Attribute* value = effective_attribute(node, given.name, attributes_))
        values[given.name] = value;
    }
    calls.push_back(&function);
    const bool write = std::exchange(environment_.write, false);  // other calls use the same body
    Walk walk(environment_, function.body, &values);
    const auto& formal = function.body.inputs();
    for (size_t i = 0; i < formal.size(); ++i) {
      if (i >= inputs.size() || !inputs[i].given) {
        walk.set_absent(formal[i]);
        continue;
      }
      if (inputs[i].type->kind != ir::ValueKind::kUnknown) walk.type(formal[i]) = *inputs[i].type;
      if (ir::TensorPtr known = tensor(node.inputs[i])) walk.set_tensor(formal[i], std::move(known));
      if (const Elements* known = elements(node.inputs[i])) walk.set_elements(formal[i], *known);
    }
    const Status status = walk.run();
    environment_.write = write;
    calls.pop_back();
    RETURN_IF_ERROR(status);
    std::vector<ir::Type> types = walk.outputs();
    for (size_t i = 0; i < out.size() && i < types.size(); ++i) {
      out[i] = std::move(types[i]);
      const ir::ValueId inner = function.body.outputs()[i];
      if (node.outputs[i] == ir::kNone) continue;
      if (ir::TensorPtr known = walk.tensor(inner)) set_tensor(node.outputs[i], std::move(known));
      if (const Elements* known = walk.elements(inner)) set_elements(node.outputs[i], *known);
    }
    return ok_status();
  }

  Environment& environment_;
  const ir::Graph& graph_;
  const AttributeValues* attributes_;
  std::vector<ir::Type> types_;
  std::unordered_map<ir::ValueId, ir::TensorPtr> tensors_;
  std::unordered_map<ir::ValueId, Elements> elements_;
  std::set<ir::ValueId> absent_;
};

Environment make_environment(const std::vector<ir::Function>& functions) {
  Environment environment;
  for (const ir::Function& function : functions) {
    environment.functions[{canonical_domain(function.domain), function.name, function.overload}] = &function;
  }
  return environment;
}

/// Raises `next` above the numbers of all generated symbols of the type.
void note_symbols(const ir::Type& type, int64_t& next) {
  for (const ir::Dim& dim : type.shape.dims) {
    if (dim.symbol.compare(0, kFreshPrefix.size(), kFreshPrefix) != 0) continue;
    const int64_t number = std::strtoll(dim.symbol.c_str() + kFreshPrefix.size(), nullptr, 10);
    if (number >= next && number < INT64_MAX) next = number + 1;
  }
}

void note_symbols(const ir::Graph& graph, int64_t& next) {
  for (ir::ValueId id = 0; id < graph.value_limit(); ++id) {
    if (graph.has_value(id)) note_symbols(graph.value(id).type, next);
  }
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    if (!graph.has_node(id)) continue;
    for (const ir::Attribute& attribute : graph.node(id).attributes) {
      for (const ir::GraphBox& body : attribute.graphs) note_symbols(*body, next);
    }
  }
}

Status place_input_shapes(const ir::Graph& graph, const std::map<ir::ValueId, ir::Shape>& shapes,
                          Walk& walk) {
  for (const auto& entry : shapes) {
    const ir::ValueId id = entry.first;
    if (!graph.has_value(id) || !graph.value(id).is_input)
      return internal_error("value ", id, " is not a graph input");
    ir::Shape& shape = walk.type(id).shape;
    if (shape.has_rank && shape.rank() != entry.second.rank()) {
      return invalid_input("input '", graph.value(id).name, "' has shape ", shape.to_string(), ", got ",
                           entry.second.to_string());
    }
    shape = entry.second;
  }
  return ok_status();
}

}  // namespace

Result<std::vector<ir::Type>> infer_node(const ir::Node& node, const InferInputs& inputs) {
  if (node.registered != nullptr) return infer_registered(node, inputs, nullptr);
  std::vector<ir::Type> out(node.outputs.size());
  const Operator* op = find_operator(node);
  if (op == nullptr) return out;
  std::vector<InputView> views(node.inputs.size());
  for (size_t i = 0; i < views.size(); ++i) {
    views[i].given = node.inputs[i] != ir::kNone;
    views[i].type = i < inputs.types.size() ? inputs.types[i] : nullptr;
    views[i].value = i < inputs.values.size() ? inputs.values[i] : nullptr;
  }
  const InferBody infer_body = [](ir::Graph& body, const std::vector<ir::Type>& types) {
    Environment environment;
    const ir::Graph nothing;
    return Walk(environment, nothing, nullptr).infer_nested(body, types);
  };
  Status status = infer_operator_node(*op, node, views, nullptr, infer_body, false, out);
  if (!status.ok()) return std::move(status).with_context(node.label());
  return out;
}

namespace {

Status infer_and_write(ir::Graph& graph, const std::vector<ir::Function>& functions,
                       const std::map<ir::ValueId, ir::Shape>& input_shapes, bool branches_may_fail) {
  Environment environment = make_environment(functions);
  environment.branches_may_fail = branches_may_fail;
  environment.write = true;
  environment.check_types = true;
  note_symbols(graph, environment.next_symbol);
  Walk walk(environment, graph, nullptr);
  RETURN_IF_ERROR(place_input_shapes(graph, input_shapes, walk));
  RETURN_IF_ERROR(walk.run());
  walk.write(graph);
  return ok_status();
}

}  // namespace

Status infer_graph(ir::Graph& graph, const std::vector<ir::Function>& functions,
                   const std::map<ir::ValueId, ir::Shape>& input_shapes) {
  return infer_and_write(graph, functions, input_shapes, false);
}

Status infer_expanded(ir::Graph& graph, const std::vector<ir::Function>& functions) {
  return infer_and_write(graph, functions, {}, true);
}

Result<Inference> infer_values(const ir::Graph& graph, const std::vector<ir::Function>& functions,
                               const std::map<ir::ValueId, ir::Shape>& input_shapes,
                               const std::map<ir::ValueId, ir::TensorPtr>& input_values) {
  Environment environment = make_environment(functions);
  Walk walk(environment, graph, nullptr);
  RETURN_IF_ERROR(place_input_shapes(graph, input_shapes, walk));
  for (const auto& entry : input_values) walk.set_tensor(entry.first, entry.second);
  RETURN_IF_ERROR(walk.run());
  return walk.take();
}

}  // namespace tenon::ops
