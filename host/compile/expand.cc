#include "host/compile/expand.h"

#include <algorithm>

#include "core/base/stop.h"
#include "core/ops/ops.h"

namespace tenon::runtime {

Expander::Expander(const ir::ModelInfo& model, transform::Options transforms, int64_t node_limit)
    : model_(model), transforms_(std::move(transforms)), node_limit_(node_limit) {}

bool Expander::is_call(const ir::Node& node) const {
  return model_.find_function(node.domain, node.op_type, node.overload) != nullptr;
}

bool Expander::can_expand(const ir::Node& node) const {
  return is_call(node) || node.parts != nullptr || ops::has_function_body(node) ||
         transform::can_lower_contrib(node);
}

Status Expander::expand_one(ir::Graph* graph, ir::NodeId id) {
  const ir::Node& node = graph->node(id);
  if (const ir::Function* function = model_.find_function(node.domain, node.op_type, node.overload)) {
    return ir::inline_call(*graph, id, *function);
  }
  if (node.parts != nullptr) {
    put_back_one(graph, id);
    return ok_status();
  }
  if (!ops::has_function_body(node)) return transform::lower_contrib(*graph, id, model_.opset_imports);
  ASSIGN_OR_RETURN(const ir::Function body, ops::function_body(*graph, id, model_.opset_imports));
  return ir::inline_call(*graph, id, body);
}

void Expander::put_back_one(ir::Graph* graph, ir::NodeId id) {
  transforms_.enabled[graph->node(id).parts->name] = false;
  transform::put_back(*graph, id);
}

Status Expander::simplify(ir::Graph* graph, bool raise) {
  RETURN_IF_ERROR(ops::infer_expanded(*graph, model_.functions));
  transform::Options options = transforms_;
  options.raise = raise;
  return transform::run_pipeline(*graph, model_, options).status();
}

Status Expander::put_back(ir::Graph* graph, const std::vector<ir::NodeId>& nodes) {
  for (const ir::NodeId id : nodes) put_back_one(graph, id);
  return simplify(graph, false);
}

Result<size_t> Expander::expand(ir::Graph* graph, const std::vector<ir::NodeId>& nodes) {
  const bool calls_only =
      std::any_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return is_call(graph->node(id)); });
  size_t expanded = 0;
  for (ir::NodeId id : nodes) {
    if (hopeless_.count(id) != 0 || !can_expand(graph->node(id))) continue;
    if (calls_only && !is_call(graph->node(id))) continue;
    const std::string label = graph->node(id).label();
    RETURN_IF_ERROR(check_stop("functions were expanded").with_context(label));
    Status status = expand_one(graph, id);
    if (status.kind() == ErrorKind::kUnsupported || status.code() == StatusCode::kNotFound) {
      hopeless_.emplace(id, status.message());
      continue;
    }
    if (!status.ok()) return std::move(status).with_context(label);
    ++expanded;
    if (count_nodes(*graph) > node_limit_) {
      return limit_exceeded("the expanded graph has more than ", node_limit_, " nodes").with_context(label);
    }
  }
  if (expanded == 0) return expanded;
  RETURN_IF_ERROR(simplify(graph, calls_only));
  return expanded;
}

std::string Expander::why_not(ir::NodeId id) const {
  const auto found = hopeless_.find(id);
  return found == hopeless_.end() ? std::string() : found->second;
}

int64_t count_nodes(const ir::Graph& graph) {
  auto count = static_cast<int64_t>(graph.node_count());
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    if (!graph.has_node(id)) continue;
    for (const ir::Attribute& attribute : graph.node(id).attributes) {
      for (const ir::GraphBox& nested : attribute.graphs) count += count_nodes(*nested);
    }
  }
  return count;
}

}  // namespace tenon::runtime
