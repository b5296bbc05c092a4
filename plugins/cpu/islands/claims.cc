// Which groups of nodes become islands.
#include <algorithm>

#include "islands/program.h"
#include "tenon/ep/groups.hpp"

namespace tenon::cpu::islands {

const OperatorEntry* find_operator(const NodeView& node, Support* out_refusal) {
  return ep::choose_entry<OperatorEntry>(
      node, out_refusal, [](const OperatorEntry& entry, const NodeView& n) { return entry.supports(n); });
}

namespace {

/// Islands compute in float32, and some operators in bytes. Other types occur only as constants that operations read when they are
/// made.
Support values_suit(const NodeView& node, bool bytes) {
  const auto suits = [&](const ep::ValueView& value) {
    if (!value.present() || value.is_constant()) return true;
    const uint32_t type = value.dtype();
    return value.kind() == TENON_KIND_TENSOR &&
           (type == TENON_FLOAT32 || (bytes && (type == TENON_INT8 || type == TENON_UINT8)));
  };
  bool all = true;
  for (int i = 0; i < node.input_count(); ++i) all = all && suits(node.input(i));
  for (int i = 0; i < node.output_count(); ++i) all = all && suits(node.output(i));
  return all ? Support::yes()
             : Support::no(TENON_REJECT_TYPE,
                           cat(node.op(), ": islands compute in float32", bytes ? " or bytes" : ""));
}

/// The operator for a node of an island; null if it cannot be in one.
const OperatorEntry* island_operator(const ep::GraphView& graph, uint32_t n,
                                     const ep::InstanceSettings& settings) {
  ep::ConstantStore store;
  const NodeView node(graph, n, store, settings);
  Support refusal = Support::yes();
  const OperatorEntry* entry = find_operator(node, &refusal);
  const bool suits = entry != nullptr && values_suit(node, entry->spec.bytes) &&
                     ep::choose_kernel(node, &refusal) != nullptr;
  return suits ? entry : nullptr;
}

}  // namespace

Extent extent_of(std::string_view option) {
  if (option == "off") return Extent::kNone;
  return option == "all" ? Extent::kAll : Extent::kGaining;
}

bool is_island(const ep::GraphView& graph, const ep::InstanceSettings& settings, Extent extent) {
  if (extent == Extent::kNone) return false;
  if (graph.info().node_count != 1) return true;
  const OperatorEntry* entry = island_operator(graph, 0, settings);
  return entry != nullptr && (entry->spec.gains || extent == Extent::kAll);
}

void offer_islands(const ep::InstanceSettings& settings, Extent extent, const ep::GraphView& graph,
                   const tenon_claim_sink* sink, std::vector<bool>* taken) {
  if (extent == Extent::kNone) return;
  const uint32_t count = graph.info().node_count;
  std::vector<bool> can(count, false), gains(count, false);
  for (uint32_t n = 0; n < count; ++n) {
    if ((*taken)[n]) continue;
    const OperatorEntry* entry = island_operator(graph, n, settings);
    can[n] = entry != nullptr;
    gains[n] = entry != nullptr && (entry->spec.gains || extent == Extent::kAll);
  }
  for (const std::vector<uint32_t>& nodes : ep::convex_groups(graph, can)) {
    if (std::none_of(nodes.begin(), nodes.end(), [&](uint32_t n) { return gains[n]; })) continue;
    ep::claim_nodes(sink, nodes);
    for (const uint32_t n : nodes) (*taken)[n] = true;
  }
}

}  // namespace tenon::cpu::islands
