#include "host/exec/prepare_part.h"

#include <unordered_map>

#include "core/ops/ops.h"
#include "host/device/graph_view.h"
#include "host/exec/labels.h"
#include "host/services/trace.h"

namespace tenon::runtime {
namespace {

/// Types of the nodes' values with the dims of this signature.
std::unordered_map<ir::ValueId, ir::Type> concrete_types(const CompiledPart& part,
                                                         const Knowledge& knowledge) {
  std::unordered_map<ir::ValueId, ir::Type> types;
  const auto add = [&](ir::ValueId v) {
    if (v != ir::kNone) types.emplace(v, knowledge.type(v));
  };
  for (ir::NodeId id : part.nodes) {
    for (ir::ValueId v : knowledge.graph().node(id).inputs) add(v);
    for (ir::ValueId v : knowledge.graph().node(id).outputs) add(v);
  }
  return types;
}

/// Descriptors of a part's inputs for Prepare, and the memory that they point to.
struct InputDescriptors {
  std::vector<tenon_tensor> tensors;
  std::vector<std::vector<int64_t>> dims;
  std::vector<ConstantPtr> values;
};

Status describe_input(const SharedState& shared, const CompiledPart& part, const Knowledge& knowledge,
                      size_t i, InputDescriptors* out) {
  const ir::ValueId value = part.inputs[i];
  const ir::Type& type = knowledge.type(value);
  tenon_tensor& tensor = out->tensors[i];
  if (part.shape_inputs[i]) {
    ASSIGN_OR_RETURN(out->values[i], shared.constants->get(knowledge.value(value)));
    tensor = out->values[i]->descriptor();
    return ok_status();
  }
  tensor.kind = static_cast<uint32_t>(type.kind);
  tensor.domain = part.input_domains[i]->local_id;
  if (type.is_tensor()) {
    out->dims[i] = type.shape.to_ints();
    tensor.dtype = static_cast<uint32_t>(type.element);
    tensor.rank = static_cast<uint32_t>(out->dims[i].size());
    tensor.dims = out->dims[i].data();
    int64_t bytes = 0;
    if (ir::packed_bytes(type.element, type.shape.element_count(), &bytes))
      tensor.byte_size = static_cast<uint64_t>(bytes);
    return ok_status();
  }
  const ir::Type* inner = &type;
  while (!inner->is_tensor() && inner->inner != nullptr) inner = inner->inner.get();
  tensor.dtype = static_cast<uint32_t>(inner->element);
  return ok_status();
}

/// The inferred shapes of `values`: null where a shape is unknown, Prepared::no_shape() for a value that has none.
class KnownDims {
 public:
  KnownDims(const Knowledge& knowledge, const std::vector<ir::ValueId>& values) : dims_(values.size()) {
    for (size_t i = 0; i < values.size(); ++i) {
      const ir::Type& type = knowledge.type(values[i]);
      const bool known = type.is_tensor() && type.shape.is_static();
      if (known) dims_[i] = type.shape.to_ints();
      const bool shapeless = !type.is_tensor() && type.kind != ir::ValueKind::kUnknown;
      pointers_.push_back(known ? &dims_[i] : shapeless ? Prepared::no_shape() : nullptr);
    }
  }
  const std::vector<Prepared::Dims>& get() const { return pointers_; }

 private:
  std::vector<std::vector<int64_t>> dims_;
  std::vector<Prepared::Dims> pointers_;
};

Status check_size(const SharedState& shared, const CompiledPart& part, const Knowledge& knowledge,
                  size_t output, std::span<const int64_t> dims) {
  const ir::ValueId value = part.outputs[output];
  const ir::Type& type = knowledge.type(value);
  uint64_t bytes = 0;
  if (!part.output_domains[output]->is_host() || shared.memory == nullptr ||
      !tensor_bytes(static_cast<uint32_t>(type.element), dims, &bytes))
    return ok_status();
  Status status = shared.memory->check_size(bytes);
  if (status.ok()) return status;
  return std::move(status).with_context(label_of_value(knowledge.graph(), value)).with_context(part.label);
}

}  // namespace

Status check_sizes(const SharedState& shared, const CompiledPart& part, const Knowledge& knowledge) {
  for (size_t o = 0; o < part.outputs.size(); ++o) {
    const ir::Type& type = knowledge.type(part.outputs[o]);
    if (!type.is_tensor() || !type.shape.is_static()) continue;
    RETURN_IF_ERROR(check_size(shared, part, knowledge, o, type.shape.to_ints()));
  }
  return ok_status();
}

Status check_sizes(const SharedState& shared, const CompiledPart& part, const Knowledge& knowledge,
                   const Prepared& prepared) {
  for (size_t o = 0; o < part.outputs.size(); ++o) {
    const PreparedOutput& output = prepared.outputs()[o];
    if (output.at_run || !knowledge.type(part.outputs[o]).is_tensor()) continue;
    RETURN_IF_ERROR(check_size(shared, part, knowledge, o, output.dims));
  }
  return ok_status();
}

Result<std::shared_ptr<Program>> compile_part(const ir::Graph& graph, const SharedState& shared,
                                              const CompiledPart& part,
                                              const std::unordered_map<ir::ValueId, ir::Type>* types) {
  GraphSource source;
  source.graph = &graph;
  source.opset_imports = &shared.opset_imports;
  source.constants = shared.constants.get();
  source.is_function = [](const ir::Node& node) { return ops::has_function_body(node); };
  source.is_control_flow = [](const ir::Node& node) { return ops::is_control_flow(node); };
  const ClaimView claim{part.nodes, part.inputs, part.outputs, types};
  const TraceSpan span(shared.trace.get(), part.label, "compile", part.instance->id());
  ASSIGN_OR_RETURN(GraphView view, GraphView::of_claim(source, claim));
  return Program::compile(part.instance, view, part.claim.tag, part.label);
}

bool can_prepare(const CompiledPart& part, const Knowledge& knowledge) {
  for (size_t i = 0; i < part.inputs.size(); ++i) {
    if (!knowledge.shape_known(part.inputs[i])) return false;
    if (part.shape_inputs[i] && knowledge.value(part.inputs[i]) == nullptr) return false;
  }
  return true;
}

Result<std::shared_ptr<const Prepared>> prepare_part(const SharedState& shared, const CompiledPart& part,
                                                     const Knowledge& knowledge) {
  std::shared_ptr<const Program> program = part.program;
  if (program == nullptr) {
    const auto types = concrete_types(part, knowledge);
    ASSIGN_OR_RETURN(program, compile_part(knowledge.graph(), shared, part, &types));
  }
  InputDescriptors inputs;
  inputs.tensors.resize(part.inputs.size());
  inputs.dims.resize(part.inputs.size());
  inputs.values.resize(part.inputs.size());
  for (size_t i = 0; i < part.inputs.size(); ++i) {
    RETURN_IF_ERROR(describe_input(shared, part, knowledge, i, &inputs));
  }
  const KnownDims outputs(knowledge, part.outputs), values(knowledge, program->values());
  return Prepared::make(std::move(program), inputs.tensors, outputs.get(), values.get());
}

}  // namespace tenon::runtime
