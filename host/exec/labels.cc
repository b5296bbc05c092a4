#include "host/exec/labels.h"

namespace tenon::runtime {

std::string label_of_value(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  const std::string label = str_cat("value '", value.name, "'");
  return value.producer == ir::kNone ? label : str_cat(label, " of ", graph.node(value.producer).label());
}

std::string label_of_largest(const ir::Graph& graph, const Plan& plan, bool of_host) {
  const Slot* largest = nullptr;
  for (const Slot& slot : plan.slots) {
    if (slot.slab == plan::kNone || slot.value == ir::kNone || slot.domain->is_host() != of_host) continue;
    if (largest == nullptr || slot.bytes > largest->bytes) largest = &slot;
  }
  if (largest == nullptr) return "the workspaces of the plan";
  return str_cat("a plan (largest: ", label_of_value(graph, largest->value), ", ", largest->bytes, " bytes)");
}

}  // namespace tenon::runtime
