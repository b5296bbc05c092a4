// Replaces a call by the body of the function.
#include <algorithm>
#include <utility>

#include "core/base/quote.h"
#include "core/ir/graph.h"

namespace tenon::ir {
namespace {

/// Resolves the attribute references of a function body for one call.
class Substitution {
 public:
  Substitution(const Node& call, const Function& function) : call_(call), function_(function) {}

  /// Replaces references in the attributes, also inside nested graphs. A reference without a value removes the
  /// attribute, so the default of the operator applies.
  Status apply(std::vector<Attribute>& attributes, bool nested_in_body = false) const {
    std::vector<Attribute> kept;
    kept.reserve(attributes.size());
    for (Attribute& attribute : attributes) {
      if (!attribute.reference.empty()) {
        const Attribute* value = find(attribute.reference);
        if (!value) continue;
        if (attribute.type != AttributeType::kUndefined && attribute.type != value->type) {
          return invalid_model("attribute ", quote(value->name), " is ", attribute_type_name(value->type),
                               " and function ", quote(function_.name), " uses it as ",
                               attribute_type_name(attribute.type));
        }
        if (nested_in_body && !value->graphs.empty()) {
          return unsupported("function ", quote(function_.name), " uses the graph in attribute ",
                             quote(value->name),
                             " inside a nested graph; inline the function when exporting the model");
        }
        std::string name = std::move(attribute.name);
        attribute = *value;
        attribute.name = std::move(name);
      } else {
        for (GraphBox& nested : attribute.graphs) RETURN_IF_ERROR(apply(*nested));
      }
      kept.push_back(std::move(attribute));
    }
    attributes = std::move(kept);
    return ok_status();
  }

 private:
  Status apply(Graph& graph) const {
    for (NodeId id = 0; id < graph.node_limit(); ++id) {
      if (graph.has_node(id)) RETURN_IF_ERROR(apply(graph.mutable_node(id).attributes, true));
    }
    return ok_status();
  }

  const Attribute* find(std::string_view name) const {
    if (const Attribute* given = call_.find(name)) return given;
    for (const Attribute& fallback : function_.attribute_defaults) {
      if (fallback.name == name) return &fallback;
    }
    return nullptr;
  }

  const Node& call_;
  const Function& function_;
};

/// Turns every use of `inner` into a missing input, because the outer value is missing.
void make_missing(Graph& graph, ValueId inner) {
  std::vector<Use> uses = graph.value(inner).uses;
  for (const Use& use : uses) {
    if (use.input != kNone) {
      graph.set_input(use.node, use.input, kNone);
      continue;
    }
    for (Attribute& attribute : graph.mutable_node(use.node).attributes) {
      for (GraphBox& nested : attribute.graphs) {
        for (const Capture& capture : std::vector<Capture>(nested->captures())) {
          if (capture.outer == inner) make_missing(*nested, capture.inner);
        }
        nested->remove_unused_captures();
      }
    }
    graph.refresh_captures(use.node);
  }
}

class Inliner {
 public:
  Inliner(Graph& graph, NodeId call, const Function& function)
      : graph_(graph), call_id_(call), call_(graph.node(call)), function_(function), body_(function.body) {}

  Status run() {
    RETURN_IF_ERROR(check_call());
    ASSIGN_OR_RETURN(std::vector<NodeId> order, body_.topological_order());
    graph_.remove_node(call_id_);
    map_inputs();
    map_outputs();
    for (ValueId id = 0; id < body_.value_limit(); ++id) {
      if (body_.has_value(id) && !mapped_[id]) map_inner(id);
    }
    for (NodeId id : order) RETURN_IF_ERROR(copy_node(body_.node(id)));
    return connect_passed_through();
  }

 private:
  Status check_call() const {
    if (call_.inputs.size() > body_.inputs().size()) {
      return invalid_model("the call has ", call_.inputs.size(), " inputs and function ",
                           quote(function_.name), " takes ", body_.inputs().size());
    }
    if (call_.outputs.size() > body_.outputs().size()) {
      return invalid_model("the call has ", call_.outputs.size(), " outputs and function ",
                           quote(function_.name), " gives ", body_.outputs().size());
    }
    for (ValueId output : body_.outputs()) {
      const Value& value = body_.value(output);
      if (value.producer == kNone && !value.is_constant() && !value.is_input) {
        return invalid_model("nothing produces output ", quote(value.name), " of function ",
                             quote(function_.name));
      }
    }
    if (!body_.captures().empty())
      return invalid_model("function ", quote(function_.name), " captures values");
    return ok_status();
  }

  void set_mapped(ValueId body_value, ValueId value) {
    map_[body_value] = value;
    mapped_[body_value] = true;
  }

  void map_inputs() {
    map_.assign(body_.value_limit(), kNone);
    mapped_.assign(body_.value_limit(), false);
    for (size_t i = 0; i < body_.inputs().size(); ++i) {
      set_mapped(body_.inputs()[i], i < call_.inputs.size() ? call_.inputs[i] : kNone);
    }
  }

  /// A value that a node of the body produces takes the place of the call's output. Other outputs (inputs,
  /// constants, repeated values) are connected after the nodes exist.
  void map_outputs() {
    for (size_t i = 0; i < call_.outputs.size(); ++i) {
      if (call_.outputs[i] == kNone) continue;
      ValueId inner = body_.outputs()[i];
      if (body_.value(inner).producer != kNone && !mapped_[inner]) {
        set_mapped(inner, call_.outputs[i]);
        if (graph_.value(call_.outputs[i]).type == Type())
          graph_.set_type(call_.outputs[i], body_.value(inner).type);
      } else {
        passed_through_.push_back({inner, call_.outputs[i]});
      }
    }
  }

  void map_inner(ValueId id) {
    const Value& value = body_.value(id);
    const std::string name = call_.name + "/" + value.name;
    set_mapped(id, value.is_constant() ? graph_.add_constant(name, value.constant)
                                       : graph_.add_value(name, value.type));
  }

  Status copy_node(const Node& original) {
    Node node = original;
    node.name = call_.name + "/" + original.name;
    RETURN_IF_ERROR(Substitution(call_, function_).apply(node.attributes).with_context(original.label()));
    for (ValueId& input : node.inputs) {
      if (input != kNone) input = map_[input];
    }
    for (ValueId& output : node.outputs) {
      if (output != kNone) output = map_[output];
    }
    for (Attribute& attribute : node.attributes) {
      // A graph from an attribute of the call captures values of the caller already.
      const Attribute* before = original.find(attribute.name);
      if (!before->reference.empty()) continue;
      for (GraphBox& nested : attribute.graphs) RETURN_IF_ERROR(map_captures(*nested));
    }
    graph_.add_node(std::move(node));
    return ok_status();
  }

  Status map_captures(Graph& nested) {
    for (const Capture& capture : std::vector<Capture>(nested.captures())) {
      if (map_[capture.outer] != kNone) continue;
      make_missing(nested, capture.inner);
      if (nested.value(capture.inner).output_count != 0) return missing(capture.outer);
    }
    nested.remove_unused_captures();
    nested.remap_captures(map_);
    return ok_status();
  }

  Status missing(ValueId body_value) const {
    return invalid_model("the call leaves out input ", quote(body_.value(body_value).name),
                         ", which function ", quote(function_.name), " returns as an output");
  }

  Status connect_passed_through() {
    for (const PassedThrough& pair : passed_through_) {
      ValueId source = map_[pair.inner];
      if (body_.value(pair.inner).is_constant()) {
        graph_.set_constant(pair.output, body_.value(pair.inner).constant);
      } else if (source == kNone) {
        make_missing(graph_, pair.output);
        if (graph_.value(pair.output).output_count != 0) return missing(pair.inner);
      } else {
        graph_.replace_uses(pair.output, source);
        if (graph_.value(pair.output).output_count != 0) add_identity(source, pair.output);
      }
    }
    return ok_status();
  }

  void add_identity(ValueId source, ValueId output) {
    Node identity;
    identity.name = call_.name + "/Identity";
    identity.op_type = "Identity";
    identity.since_version = 1;
    identity.inputs = {source};
    identity.outputs = {output};
    graph_.add_node(std::move(identity));
  }

  struct PassedThrough {
    ValueId inner, output;
  };

  Graph& graph_;
  NodeId call_id_;
  Node call_;  // a copy: the node is removed first
  const Function& function_;
  const Graph& body_;
  std::vector<ValueId> map_;  // body value -> value
  std::vector<bool> mapped_;
  std::vector<PassedThrough> passed_through_;
};

}  // namespace

Status inline_call(Graph& graph, NodeId call, const Function& function) {
  std::string label = graph.node(call).label();
  return Inliner(graph, call, function).run().with_context(label);
}

}  // namespace tenon::ir
