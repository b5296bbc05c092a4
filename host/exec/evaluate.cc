#include "host/exec/evaluate.h"

#include <algorithm>

#include "core/base/stop.h"
#include "core/ops/ops.h"

namespace tenon::runtime {
namespace {

/// Shape and Size need only the type of their input. Null for other nodes.
ir::TensorPtr from_shape(const ir::Node& node, const Knowledge& knowledge) {
  if (!node.is("Shape") && !node.is("Size")) return nullptr;
  if (node.inputs.size() != 1 || node.inputs[0] == ir::kNone) return nullptr;
  const ir::Type made = ir::Type::tensor(ir::ElementType::kInt64);
  const std::optional<ops::Elements> known =
      ops::propagate_elements(node, {{&knowledge.type(node.inputs[0])}}, made);
  return known ? known->to_tensor(made.element) : nullptr;
}

bool is_small(const ir::Type& type) {
  return !type.is_tensor() || !type.shape.is_static() ||
         (type.shape.element_count() >= 0 && type.shape.element_count() <= kMaxKnownElements);
}

/// False when a value is unknown or too large.
bool known_inputs(const ir::Node& node, const Knowledge& knowledge, std::vector<ir::TensorPtr>* out) {
  for (ir::ValueId v : node.inputs) {
    out->push_back(v == ir::kNone ? nullptr : knowledge.value(v));
    if (v != ir::kNone && (out->back() == nullptr || out->back()->element_count() > kMaxKnownElements))
      return false;
  }
  return true;
}

/// True when the evaluator's instance compiled the part, for host memory.
bool is_evaluators(const CompiledPart& part, const NodeRunner& evaluator) {
  const auto on_host = [](const MemoryDomain* domain) { return domain->is_host(); };
  return part.program != nullptr && part.instance.get() == &evaluator.instance() &&
         std::all_of(part.input_domains.begin(), part.input_domains.end(), on_host) &&
         std::all_of(part.output_domains.begin(), part.output_domains.end(), on_host);
}

Status run_part(const CompiledPart& part, Knowledge* knowledge) {
  std::vector<ValueRef> inputs(part.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (part.inputs[i] == ir::kNone) continue;
    ASSIGN_OR_RETURN(inputs[i], value_of(knowledge->value(part.inputs[i])));
  }
  std::vector<ir::Type> types;
  for (const ir::ValueId v : part.outputs) types.push_back(knowledge->type(v));
  ASSIGN_OR_RETURN(const std::vector<ValueRef> made, run_program(part.program, inputs, types));
  std::vector<ir::TensorPtr> tensors(made.size());
  for (size_t o = 0; o < made.size(); ++o) {
    ASSIGN_OR_RETURN(tensors[o], tensor_of(made[o]));
  }
  for (size_t o = 0; o < made.size(); ++o) knowledge->set_value(part.outputs[o], std::move(tensors[o]));
  return ok_status();
}

/// For a node of another provider, or one whose program needs static shapes.
Status run_node(const NodeRunner& evaluator, const ir::Node& node, const std::vector<ir::TensorPtr>& inputs,
                Knowledge* knowledge) {
  ASSIGN_OR_RETURN(std::vector<ir::TensorPtr> outputs, evaluator.run(node, inputs));
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o] == ir::kNone) continue;
    if (o >= outputs.size() || outputs[o] == nullptr)
      return internal_error("output ", o, " was not computed");
  }
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o] != ir::kNone) knowledge->set_value(node.outputs[o], std::move(outputs[o]));
  }
  return ok_status();
}

}  // namespace

Result<bool> evaluate_part(const Executable& executable, const CompiledPart& part, Knowledge* knowledge) {
  if (part.nodes.size() != 1) return false;
  const ir::Node& node = executable.graph().node(part.nodes[0]);
  if (node.outputs.size() == 1) {
    if (ir::TensorPtr tensor = from_shape(node, *knowledge)) {
      knowledge->set_value(node.outputs[0], std::move(tensor));
      return true;
    }
  }
  const SharedState& shared = executable.shared();
  // Constant folding left nodes without inputs in the graph on purpose.
  if (shared.evaluator == nullptr || node.inputs.empty() || ops::is_nondeterministic(node) ||
      node.has_subgraph()) {
    return false;
  }
  std::vector<ir::TensorPtr> inputs;
  if (!known_inputs(node, *knowledge, &inputs)) return false;
  for (ir::ValueId v : node.outputs) {
    if (v != ir::kNone && !(knowledge->type(v).is_tensor() && is_small(knowledge->type(v)))) return false;
  }
  Status status = is_evaluators(part, *shared.evaluator)
                      ? run_part(part, knowledge)
                      : run_node(*shared.evaluator, node, inputs, knowledge);
  if (is_stopped(status)) return status;
  return status.ok();  // after a failure the node runs as a step, which reports the error
}

}  // namespace tenon::runtime
