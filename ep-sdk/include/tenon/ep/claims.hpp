// The capability of a kernel-style provider: for each node the kernel that supports it, or why none does.
#ifndef TENON_EP_CLAIMS_HPP_
#define TENON_EP_CLAIMS_HPP_

#include "tenon/ep/kernel.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {
namespace detail {

/// Rejects a value whose kind or element type this header does not know (R12).
inline Support judge_numbers(const NodeView& node, const ValueView& value) {
  if (!value.present() || (value.kind() <= TENON_KIND_SPARSE && value.dtype() <= TENON_FLOAT6E3M2))
    return Support::yes();
  return Support::no(TENON_REJECT_TYPE,
                     cat(node.op(), ": value '", value.name(), "' is of kind ", value.kind(),
                         " and element type ", value.dtype(), ", which is not known"));
}
inline Support judge_numbers(const NodeView& node) {
  Support out = Support::yes();
  for (int i = 0; out && i < node.input_count(); ++i) out = judge_numbers(node, node.input(i));
  for (int i = 0; out && i < node.output_count(); ++i) out = judge_numbers(node, node.output(i));
  return out;
}

/// Rejects a node that lacks an input of the kernel's contract; otherwise asks the kernel.
inline Support judge(const KernelEntry& entry, const NodeView& node) {
  Support out = has_inputs(contract_of(entry, node), node);
  return out ? entry.ops.supports(node) : out;
}

}  // namespace detail

/// The registered kernel that supports the node. NULL when none does; then `out_refusal` says why. Pure.
inline const KernelEntry* choose_kernel(const NodeView& node, Support* out_refusal) {
  if (Support known = detail::judge_numbers(node); !known) {
    *out_refusal = std::move(known);
    return nullptr;
  }
  return choose_entry<KernelEntry>(node, out_refusal, detail::judge);
}

inline void reject_node(const tenon_claim_sink* sink, uint32_t index, const Support& support) {
  tenon_rejection rejection{};
  rejection.struct_size = sizeof(rejection);
  rejection.node = index;
  rejection.code = support.code();
  rejection.text = to_str(support.text());
  call_host(sink->reject, sink->context, &std::as_const(rejection));
}

/// Claims `nodes` to run as one. All values are in `domain`, but for those of `values` that say otherwise.
inline void claim_nodes(const tenon_claim_sink* sink, std::span<const uint32_t> nodes,
                        uint32_t domain = TENON_DOMAIN_HOST, std::span<const tenon_claim_value> values = {}) {
  tenon_claim claim{};
  claim.struct_size = sizeof(claim);
  claim.nodes = nodes.data();
  claim.node_count = static_cast<uint32_t>(nodes.size());
  claim.values = values.data();
  claim.value_count = static_cast<uint32_t>(values.size());
  claim.input_domain = claim.output_domain = domain;
  call_host(sink->claim, sink->context, &std::as_const(claim));
}

/// Claims `nodes`, whose first is `node` with kernel `entry`. The kernel's shape inputs are in host memory, all other
/// values in `domain`.
inline void claim_node(const tenon_claim_sink* sink, const NodeView& node, std::span<const uint32_t> nodes,
                       const KernelEntry& entry, uint32_t domain) {
  std::vector<tenon_claim_value> values;
  for (const int i : entry.ops.shape_inputs(node)) {
    const ValueView value = node.input(i);
    if (!value.present() || value.is_constant()) continue;
    values.push_back({value.index(), TENON_CLAIM_SHAPE_INPUT, TENON_DOMAIN_HOST, 0});
  }
  claim_nodes(sink, nodes, domain, values);
}

/// Claims node `index` by itself, with all values but shape inputs in `domain`, if a registered kernel supports it, and rejects
/// it otherwise.
inline void offer_node(const InstanceSettings& settings, const GraphView& graph, uint32_t index,
                       const tenon_claim_sink* sink, uint32_t domain = TENON_DOMAIN_HOST) {
  ConstantStore store;
  const NodeView node(graph, index, store, settings);
  Support refusal = Support::yes();
  if (const KernelEntry* entry = choose_kernel(node, &refusal)) {
    claim_node(sink, node, std::span(&index, 1), *entry, domain);
  } else {
    reject_node(sink, index, refusal);
  }
}

/// offer_node() for all nodes that are not taken.
inline void offer_nodes(const InstanceSettings& settings, const tenon_graph* raw,
                        const tenon_claim_sink* sink, uint32_t domain = TENON_DOMAIN_HOST) {
  const GraphView graph(raw);
  for (uint32_t i = 0; i < graph.info().node_count; ++i) {
    if ((graph.node(i).flags & TENON_NODE_TAKEN) == 0) offer_node(settings, graph, i, sink, domain);
  }
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
