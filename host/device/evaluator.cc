#include "host/device/evaluator.h"

#include <unordered_map>

namespace tenon::runtime {
namespace {

Result<std::vector<ir::TensorPtr>> evaluate(const NodeRunner& runner, const ir::Graph& graph) {
  ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph.topological_order());
  std::unordered_map<ir::ValueId, ir::TensorPtr> known;
  const auto find = [&](ir::ValueId v) -> ir::TensorPtr {
    if (v == ir::kNone) return nullptr;
    if (graph.value(v).constant != nullptr) return graph.value(v).constant;
    const auto at = known.find(v);
    return at == known.end() ? nullptr : at->second;
  };
  for (ir::NodeId id : order) {
    const ir::Node& node = graph.node(id);
    std::vector<ir::TensorPtr> inputs;
    for (ir::ValueId v : node.inputs) {
      inputs.push_back(find(v));
      if (v != ir::kNone && inputs.back() == nullptr)
        return unsupported("an input is not constant").with_context(node.label());
    }
    ASSIGN_OR_RETURN(std::vector<ir::TensorPtr> outputs, runner.run(node, inputs));
    for (size_t o = 0; o < node.outputs.size() && o < outputs.size(); ++o) {
      if (node.outputs[o] != ir::kNone) known[node.outputs[o]] = std::move(outputs[o]);
    }
  }
  std::vector<ir::TensorPtr> results;
  for (ir::ValueId v : graph.outputs()) {
    results.push_back(find(v));
    if (results.back() == nullptr) return unsupported("output '", graph.value(v).name, "' is not a tensor");
  }
  return results;
}

}  // namespace

transform::Evaluator make_evaluator(std::shared_ptr<const NodeRunner> runner) {
  if (runner == nullptr) return {};
  return [runner = std::move(runner)](const ir::Graph& graph) { return evaluate(*runner, graph); };
}

}  // namespace tenon::runtime
