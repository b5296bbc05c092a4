// Makes nodes compute in another floating type than the model's, for providers that lack that type.
//
// The chosen nodes form a group. Values between them change their type, so nothing is rounded inside. Casts are
// added only at the border of the group. Constants are converted once.
#include <algorithm>
#include <unordered_map>

#include "core/ops/ops.h"
#include "core/transform/edit.h"

namespace tenon::transform {
namespace {

using ir::ElementType;
using ir::ValueId;

class Group {
 public:
  Group(ir::Graph& graph, FloatCast cast, const std::map<std::string, int64_t>& imports, Converted* converted)
      : graph_(graph),
        cast_(cast),
        opset_(ops::opset_of(imports, "")),
        converted_(converted),
        inside_(graph.node_limit(), false) {
    if (opset_ == 0) opset_ = ops::latest_opset("");
  }

  Result<std::vector<ir::NodeId>> run(const std::vector<ir::NodeId>& candidates) {
    std::vector<ir::NodeId> chosen;
    for (const ir::NodeId id : candidates) {
      if (!inside_[id] && has_form(graph_.node(id))) {
        inside_[id] = true;
        chosen.push_back(id);
      }
    }
    for (const ir::NodeId id : chosen) {
      const std::vector<ValueId> outputs = graph_.node(id).outputs;
      for (const ValueId output : outputs) {
        if (is_old(output)) RETURN_IF_ERROR(change_output(output));
      }
    }
    for (const ir::NodeId id : chosen) RETURN_IF_ERROR(change_inputs(id));
    return chosen;
  }

 private:
  bool is_old(ValueId id) const {
    if (id == ir::kNone) return false;
    const ir::Type& type = graph_.value(id).type;
    return type.is_tensor() && type.element == cast_.from;
  }

  /// Whether the operator accepts the new type in place of every old one, for inputs and outputs.
  bool has_form(const ir::Node& node) const {
    if (node.has_subgraph() || node.since_version == 0 || node.registered != nullptr) return false;
    // A Cast would need another Cast in front of it, again and again.
    if (node.is("Cast") || node.is("CastLike")) return false;
    std::vector<ir::Type> types(node.inputs.size());
    ops::InferInputs known;
    bool concerned = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      known.types.push_back(id == ir::kNone ? nullptr : &types[i]);
      known.values.push_back(id == ir::kNone || is_old(id) ? nullptr : graph_.value(id).constant.get());
      if (id == ir::kNone) continue;
      types[i] = graph_.value(id).type;
      if (!types[i].is_tensor()) return false;
      if (!is_old(id)) continue;
      types[i].element = cast_.to;
      concerned = true;
    }
    const Result<std::vector<ir::Type>> inferred = ops::infer_node(node, known);
    if (!concerned || !inferred.ok() || inferred->size() < node.outputs.size()) return false;
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o] == ir::kNone) continue;
      const ElementType before = graph_.value(node.outputs[o]).type.element;
      const ElementType wanted = is_old(node.outputs[o]) ? cast_.to : before;
      if (!(*inferred)[o].is_tensor() || (*inferred)[o].element != wanted) return false;
    }
    return true;
  }

  Emitter emitter(ValueId value) const {
    return Emitter(graph_, opset_, str_cat(graph_.value(value).name, "/", ir::element_type_name(cast_.to)));
  }

  /// The value keeps its id and changes its type. Nodes outside of the group read a Cast of it.
  Status change_output(ValueId value) {
    const std::vector<ir::Use> uses = graph_.value(value).uses;
    const bool leaves =
        graph_.value(value).output_count != 0 ||
        std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) { return !is_inside(use); });
    const ir::Type old_type = graph_.value(value).type;
    ir::Type new_type = old_type;
    new_type.element = cast_.to;
    graph_.set_type(value, std::move(new_type));
    if (!leaves) return ok_status();
    const std::string name = graph_.value(value).name;
    const ValueId back = graph_.add_value(name, old_type);
    graph_.replace_uses(value, back);
    for (const ir::Use& use : uses) {
      if (is_inside(use)) graph_.set_input(use.node, use.input, value);
    }
    Emitter emit(graph_, opset_, str_cat(name, "/", ir::element_type_name(cast_.from)));
    emit.into(back);
    emit.cast(value, cast_.from);
    return emit.status();
  }

  bool is_inside(const ir::Use& use) const {
    return use.input != ir::kNone && use.node < inside_.size() && inside_[use.node];
  }

  Status change_inputs(ir::NodeId id) {
    graph_.mutable_node(id).parts = nullptr;  // they are of the other type
    for (uint32_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ValueId value = graph_.node(id).inputs[i];
      if (!is_old(value)) continue;  // already changed, or of another type
      ASSIGN_OR_RETURN(const ValueId other, outside_value(value));
      graph_.set_input(id, i, other);
      const ir::Value& old = graph_.value(value);
      const bool used = !old.uses.empty() || old.output_count != 0 || old.is_input || old.is_capture;
      if (old.is_constant() && !used) graph_.remove_value(value);
    }
    return ok_status();
  }

  Result<ValueId> outside_value(ValueId value) {
    if (const auto known = outside_.find(value); known != outside_.end()) return known->second;
    ValueId other = ir::kNone;
    if (const ir::TensorPtr constant = graph_.value(value).constant) {
      ASSIGN_OR_RETURN(ir::TensorPtr tensor, convert(constant));
      other = graph_.add_constant(str_cat(graph_.value(value).name, "/", ir::element_type_name(cast_.to)),
                                  std::move(tensor));
    } else {
      Emitter emit = emitter(value);
      other = emit.cast(value, cast_.to);
      RETURN_IF_ERROR(emit.status());
    }
    outside_.emplace(value, other);
    return other;
  }

  Result<ir::TensorPtr> convert(const ir::TensorPtr& tensor) {
    ir::TensorPtr& made = (*converted_)[tensor];
    if (made != nullptr) return made;
    const std::optional<std::vector<double>> numbers = to_doubles(*tensor);
    if (!numbers.has_value()) return unsupported("a constant of this type cannot be converted");
    made = from_doubles(cast_.to, tensor->dims(), *numbers);
    return made;
  }

  ir::Graph& graph_;
  const FloatCast cast_;
  int64_t opset_;
  Converted* converted_;
  std::vector<bool> inside_;  // per node that existed at the start
  std::unordered_map<ValueId, ValueId>
      outside_;  // values from outside of the group -> the same in the new type
};

}  // namespace

Result<std::vector<ir::NodeId>> cast_nodes(ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                           FloatCast cast,
                                           const std::map<std::string, int64_t>& opset_imports,
                                           Converted* converted) {
  return Group(graph, cast, opset_imports, converted).run(nodes);
}

}  // namespace tenon::transform
