#include "host/exec/knowledge.h"

#include <algorithm>

#include "core/base/stop.h"
#include "core/ops/ops.h"

namespace tenon::runtime {

const ir::Type& Knowledge::type(ir::ValueId value) const {
  const auto at = types_.find(value);
  return at != types_.end() ? at->second : graph_->value(value).type;
}

ir::TensorPtr Knowledge::value(ir::ValueId value) const {
  if (const ir::TensorPtr& constant = graph_->value(value).constant) return constant;
  const auto at = values_.find(value);
  return at != values_.end() ? at->second : nullptr;
}

void Knowledge::set_value(ir::ValueId value, ir::TensorPtr tensor) {
  types_[value] = ir::Type::tensor(tensor->type(), tensor->shape());
  values_[value] = std::move(tensor);
}

bool Knowledge::shape_known(ir::ValueId value) const {
  if (graph_->value(value).is_constant()) return true;
  const ir::Type& known = type(value);
  return known.is_tensor() ? known.shape.is_static() : known.kind != ir::ValueKind::kUnknown;
}

Status Knowledge::infer(std::span<const ir::NodeId> nodes) {
  for (ir::NodeId id : nodes) {
    const ir::Node& node = graph_->node(id);
    if (node.has_subgraph() || unchanged(node)) continue;
    Status status = check_stop("shapes were inferred");
    if (status.ok()) status = infer_node(node);
    if (!status.ok()) return std::move(status).with_context(node.label());
  }
  return ok_status();
}

bool Knowledge::unchanged(const ir::Node& node) const {
  const auto is_static = [&](ir::ValueId v) {
    return v == ir::kNone || graph_->value(v).type.shape.is_static();
  };
  const auto as_loaded = [&](ir::ValueId v) {
    return v == ir::kNone || graph_->value(v).is_constant() ||
           (values_.count(v) == 0 && type(v) == graph_->value(v).type);
  };
  return std::all_of(node.outputs.begin(), node.outputs.end(), is_static) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), is_static) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), as_loaded);
}

Status Knowledge::infer_node(const ir::Node& node) {
  ops::InferInputs inputs;
  std::vector<ir::TensorPtr> held;
  for (ir::ValueId v : node.inputs) {
    inputs.types.push_back(v == ir::kNone ? nullptr : &type(v));
    ir::TensorPtr known = v == ir::kNone ? nullptr : value(v);
    const bool small = known != nullptr && known->element_count() <= kMaxKnownElements;
    inputs.values.push_back(small ? known.get() : nullptr);
    held.push_back(std::move(known));
  }
  ASSIGN_OR_RETURN(std::vector<ir::Type> types, ops::infer_node(node, inputs));
  for (size_t i = 0; i < node.outputs.size() && i < types.size(); ++i) {
    const ir::ValueId v = node.outputs[i];
    if (v == ir::kNone) continue;
    // When the graph's type contradicts the inferred one, the inferred one is used: the provider reports the error.
    set_type(v, ops::merge_types(graph_->value(v).type, types[i]).value_or(types[i]));
  }
  return ok_status();
}

}  // namespace tenon::runtime
