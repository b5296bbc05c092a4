// Merges nodes with the same operator, attributes and inputs, and small equal constants.
#include <functional>
#include <unordered_map>

#include "core/ops/ops.h"
#include "core/transform/edit.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

void mix(size_t& seed, size_t value) { seed ^= value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2); }

size_t hash_bytes(const void* data, size_t size) {
  return std::hash<std::string_view>()({static_cast<const char*>(data), size});
}

size_t hash_tensor(const ir::Tensor& tensor) {
  size_t seed = static_cast<size_t>(tensor.type());
  for (const int64_t dim : tensor.dims()) mix(seed, static_cast<size_t>(dim));
  if (tensor.byte_size() <= kMostCompared) {
    mix(seed, hash_bytes(tensor.data(), tensor.byte_size()));
  } else {
    mix(seed, std::hash<const std::byte*>()(tensor.data()));
  }
  return seed;
}

size_t hash_node(const ir::Node& node) {
  const std::hash<std::string> hash;
  size_t seed = hash(node.op_type);
  mix(seed, hash(node.domain));
  for (const ir::ValueId input : node.inputs) mix(seed, input);
  for (const ir::Attribute& attribute : node.attributes) {
    mix(seed, hash(attribute.name));
    mix(seed, static_cast<size_t>(attribute.i));
    for (const int64_t value : attribute.ints) mix(seed, static_cast<size_t>(value));
  }
  return seed;
}

size_t merge_constants(ir::Graph& graph) {
  size_t merged = 0;
  std::unordered_multimap<size_t, ir::ValueId> seen;
  for (ir::ValueId id = 0; id < graph.value_limit(); ++id) {
    if (!graph.has_value(id) || !graph.value(id).is_constant() || graph.value(id).output_count != 0) continue;
    const ir::Tensor& tensor = *graph.value(id).constant;
    const size_t hash = hash_tensor(tensor);
    const auto range = seen.equal_range(hash);
    ir::ValueId twin = ir::kNone;
    for (auto entry = range.first; entry != range.second && twin == ir::kNone; ++entry) {
      if (same_tensor(*graph.value(entry->second).constant, tensor)) twin = entry->second;
    }
    if (twin == ir::kNone) {
      seen.emplace(hash, id);
      continue;
    }
    graph.replace_uses(id, twin);
    graph.remove_value(id);
    ++merged;
  }
  return merged;
}

/// Whether `first` has every output that `second` has, and the two are never both outputs of the graph.
bool can_replace(const ir::Graph& graph, const ir::Node& second, const ir::Node& first) {
  for (size_t i = 0; i < second.outputs.size(); ++i) {
    if (second.outputs[i] == ir::kNone) continue;
    if (i >= first.outputs.size() || first.outputs[i] == ir::kNone) return false;
    if (graph.value(second.outputs[i]).output_count != 0 && graph.value(first.outputs[i]).output_count != 0)
      return false;
  }
  return true;
}

}  // namespace

Result<size_t> merge_common_subexpressions(Surroundings&, ir::Graph& graph) {
  size_t merged = merge_constants(graph);
  std::unordered_multimap<size_t, ir::NodeId> seen;
  ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph.topological_order());
  for (const ir::NodeId id : order) {
    const ir::Node& node = graph.node(id);
    if (node.has_subgraph() || ops::is_nondeterministic(node)) continue;
    const size_t hash = hash_node(node);
    const auto range = seen.equal_range(hash);
    ir::NodeId twin = ir::kNone;
    for (auto entry = range.first; entry != range.second && twin == ir::kNone; ++entry) {
      const ir::Node& first = graph.node(entry->second);
      if (first.inputs == node.inputs && same_operator(first, node) && can_replace(graph, node, first))
        twin = entry->second;
    }
    if (twin == ir::kNone) {
      seen.emplace(hash, id);
      continue;
    }
    const std::vector<ir::ValueId> outputs = node.outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != ir::kNone) graph.replace_uses(outputs[i], graph.node(twin).outputs[i]);
    }
    remove_node_and_outputs(graph, id);
    ++merged;
  }
  return merged;
}

}  // namespace tenon::transform
