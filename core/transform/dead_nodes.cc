// Removes nodes without used outputs, and unused constants.
#include "core/transform/edit.h"
#include "core/transform/passes.h"

namespace tenon::transform {

Result<size_t> remove_dead_nodes(Surroundings&, ir::Graph& graph) {
  size_t removed = 0;
  for (ir::NodeId id = graph.node_limit(); id-- > 0;) {
    if (graph.has_node(id)) removed += remove_if_unused(graph, id);
  }
  for (ir::ValueId id = 0; id < graph.value_limit(); ++id) {
    if (!graph.has_value(id)) continue;
    const ir::Value& value = graph.value(id);
    const bool reachable = value.producer != ir::kNone || value.is_input || value.is_capture ||
                           value.output_count != 0 || !value.uses.empty();
    if (reachable) continue;
    graph.remove_value(id);
    ++removed;
  }
  return removed;
}

}  // namespace tenon::transform
