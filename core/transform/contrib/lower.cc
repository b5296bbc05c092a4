#include "core/transform/contrib/lower.h"

#include <algorithm>

#include "core/ops/ops.h"

namespace tenon::transform {

namespace {

Lowering find_lowering(const ir::Node& node) {
  for (const auto* table : {&activation_lowerings(), &normalization_lowerings(), &matrix_lowerings(),
                            &attention_lowerings(), &quantized_lowerings(), &dropped_lowerings()}) {
    for (const NamedLowering& entry : *table) {
      // An operator in a standard domain is lowered only at version 1 of our own table, which ONNX does not define.
      if (entry.name == node.op_type && entry.domain == node.domain && node.since_version == 1)
        return entry.lower;
    }
  }
  return nullptr;
}

/// Removes everything that was added after its construction.
class Rollback {
 public:
  explicit Rollback(ir::Graph& graph)
      : graph_(graph), nodes_(graph.node_limit()), values_(graph.value_limit()) {}

  void run() {
    for (ir::NodeId id = graph_.node_limit(); id-- > nodes_;) {
      if (graph_.has_node(id)) graph_.remove_node(id);
    }
    for (ir::ValueId id = values_; id < graph_.value_limit(); ++id) {
      if (graph_.has_value(id)) graph_.remove_value(id);
    }
  }

 private:
  ir::Graph& graph_;
  ir::NodeId nodes_;
  ir::ValueId values_;
};

/// Replaces the node's outputs by `results`, which must cover all used ones.
void connect(Emitter& emit, ir::NodeId id, const std::vector<ir::ValueId>& results) {
  ir::Graph& graph = emit.graph();
  const std::vector<ir::ValueId> outputs = graph.node(id).outputs;
  for (size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
    if (outputs[i] == ir::kNone || results[i] == ir::kNone) continue;
    // A graph input cannot be an output as well, and one value cannot be two outputs.
    if (!forward(graph, outputs[i], results[i]))
      forward(graph, outputs[i], emit.op("Identity", {results[i]}));
  }
  remove_node_and_outputs(graph, id);
}

bool all_there(const ir::Graph& graph, const ir::Node& node, const std::vector<ir::ValueId>& results) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == ir::kNone) continue;
    const ir::Value& value = graph.value(node.outputs[i]);
    const bool wanted = !value.uses.empty() || value.output_count != 0;
    if (wanted && (i >= results.size() || results[i] == ir::kNone)) return false;
  }
  return true;
}

}  // namespace

int64_t Site::dim(size_t index, size_t axis) const {
  const ir::Type* known = input_type(emit.graph(), node, index);
  if (known == nullptr || axis >= known->shape.rank()) return -1;
  return known->shape.dims[axis].value;
}

double Site::number(std::string_view attribute, double fallback) const {
  const ir::Attribute* found = node.find(attribute);
  return found == nullptr ? fallback : static_cast<double>(found->f);
}

std::string Site::text(std::string_view attribute, std::string_view fallback) const {
  const ir::Attribute* found = node.find(attribute);
  return found == nullptr ? std::string(fallback) : found->s;
}

bool Site::wants(size_t output) const {
  if (output >= node.outputs.size() || node.outputs[output] == ir::kNone) return false;
  const ir::Value& value = emit.graph().value(node.outputs[output]);
  return !value.uses.empty() || value.output_count != 0;
}

std::vector<ir::Attribute> Site::attributes(std::initializer_list<std::string_view> names) const {
  std::vector<ir::Attribute> found;
  for (const std::string_view name : names) {
    if (const ir::Attribute* attribute = node.find(name)) found.push_back(*attribute);
  }
  return found;
}

bool can_lower_contrib(const ir::Node& node) { return find_lowering(node) != nullptr; }

Status lower_contrib(ir::Graph& graph, ir::NodeId id, const std::map<std::string, int64_t>& opset_imports) {
  const ir::Node node = graph.node(id);
  const Lowering lowering = find_lowering(node);
  if (lowering == nullptr) {
    return Status(unsupported("operator ", node.op_type, " cannot be expressed in ai.onnx"))
        .with_context(node.label());
  }
  const int64_t opset = std::max(kLoweringOpset, ops::opset_of(opset_imports, ""));
  Rollback rollback(graph);
  Emitter emit(graph, opset, node.name);
  Site site{emit, node};
  const Lowered results = lowering(site);
  Status status = results.ok() ? emit.status() : results.status();
  if (status.ok() && !all_there(graph, node, *results)) {
    status =
        unsupported("an output of ", node.op_type, " that the model uses cannot be expressed in ai.onnx");
  }
  if (!status.ok()) {
    rollback.run();
    return std::move(status).with_kind(ErrorKind::kUnsupported).with_context(node.label());
  }
  connect(emit, id, *results);
  return ok_status();
}

}  // namespace tenon::transform
