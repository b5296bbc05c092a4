// The capability of a kernel-style provider: for each node the kernel that supports it, or why none does.
#ifndef TENON_DETAIL_CLAIMS_HPP_
#define TENON_DETAIL_CLAIMS_HPP_

#include "tenon/detail/kernel.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::ep::detail {

struct Instance {
  InstanceSettings settings;
};

/// The kernel's answer. An Error becomes a rejection, because a broken attribute belongs to the node.
inline Support ask(const KernelEntry& entry, const NodeView& node) {
  try {
    return entry.ops.supports(node);
  } catch (const Error& e) {
    return Support::no(TENON_REJECT_ATTRIBUTE, cat(node.op(), ": ", e.text));
  }
}

inline Support unknown_operator(const NodeView& node, std::span<const KernelEntry* const> entries) {
  if (entries.empty()) {
    const std::string domain = node.domain().empty() ? "" : cat(node.domain(), ".");
    return Support::no(TENON_REJECT_OPERATOR, cat("operator ", domain, node.op(), " is not implemented"));
  }
  std::string versions;
  for (const KernelEntry* e : entries) {
    const bool open = e->spec.until == std::numeric_limits<int>::max();
    versions += (versions.empty() ? "" : ", ") +
                cat(e->spec.since, open ? std::string(" and later") : cat(" to ", e->spec.until));
  }
  return Support::no(TENON_REJECT_OPERATOR, cat("operator ", node.op(), " version ", node.since_version(),
                                                " is not implemented, only ", versions));
}

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

inline Contract contract_of(const KernelEntry& entry, const NodeView& node) {
  return Contract(entry.spec.contract,
                  [&](std::string_view name, int64_t otherwise) { return node.attr_i(name, otherwise); });
}

/// Rejects a node that lacks an input of the kernel's contract; otherwise asks the kernel.
inline Support judge(const KernelEntry& entry, const NodeView& node) {
  try {
    const int missing =
        contract_of(entry, node).missing(node.input_count(), [&](int i) { return node.has_input(i); });
    if (missing >= 0)
      return Support::no(TENON_REJECT_OTHER, cat(node.op(), ": input ", missing, " is missing"));
  } catch (const Error& e) {
    return Support::no(TENON_REJECT_ATTRIBUTE, cat(node.op(), ": ", e.text));
  }
  return ask(entry, node);
}

/// The kernel that supports the node, or NULL and why none does.
inline const KernelEntry* choose(const NodeView& node, Support* out_refusal) {
  if (Support known = judge_numbers(node); !known) {
    *out_refusal = std::move(known);
    return nullptr;
  }
  const auto entries = KernelRegistry::get().find(node.domain(), node.op());
  bool asked = false;
  for (const KernelEntry* entry : entries) {
    if (node.since_version() < entry->spec.since || node.since_version() > entry->spec.until) continue;
    Support support = judge(*entry, node);
    if (support) return entry;
    if (!asked) *out_refusal = std::move(support);
    asked = true;
  }
  if (!asked) *out_refusal = unknown_operator(node, entries);
  return nullptr;
}

/// Claims `nodes`, the first of which is `node` with its kernel. All values are in `domain`, but for the kernel's shape
/// inputs, which are in the host's memory.
inline void emit_claim(const tenon_claim_sink* sink, const NodeView& node, std::span<const uint32_t> nodes,
                       const KernelEntry& entry, uint32_t domain) {
  std::vector<tenon_claim_value> values;
  for (const int i : entry.ops.shape_inputs(node)) {
    const ValueView value = node.input(i);
    if (!value.present() || value.is_constant()) continue;
    values.push_back({value.index(), TENON_CLAIM_SHAPE_INPUT, TENON_DOMAIN_HOST, 0});
  }
  tenon_claim claim{};
  claim.struct_size = sizeof(claim);
  claim.nodes = nodes.data();
  claim.node_count = static_cast<uint32_t>(nodes.size());
  claim.values = values.data();
  claim.value_count = static_cast<uint32_t>(values.size());
  claim.input_domain = claim.output_domain = domain;
  call_host(sink->claim, sink->context, &std::as_const(claim));
}

inline void emit_rejection(const tenon_claim_sink* sink, uint32_t index, const Support& support) {
  tenon_rejection rejection{};
  rejection.struct_size = sizeof(rejection);
  rejection.node = index;
  rejection.code = support.code();
  rejection.text = to_str(support.text());
  call_host(sink->reject, sink->context, &std::as_const(rejection));
}

inline void offer(const Instance& instance, const tenon_graph* raw, const tenon_claim_sink* sink) {
  const GraphView graph(raw);
  for (uint32_t i = 0; i < graph.info().node_count; ++i) {
    ConstantStore store;
    const NodeView node(graph, i, store, instance.settings);
    if ((node.info().flags & TENON_NODE_TAKEN) != 0) continue;
    Support refusal = Support::yes();
    if (const KernelEntry* entry = choose(node, &refusal)) {
      emit_claim(sink, node, std::span(&i, 1), *entry, TENON_DOMAIN_HOST);
    } else {
      emit_rejection(sink, i, refusal);
    }
  }
}

}  // namespace tenon::ep::detail
#pragma GCC visibility pop

#endif
