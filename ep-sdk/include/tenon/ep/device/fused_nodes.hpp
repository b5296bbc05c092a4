// Claims of several nodes: a chain of element-wise nodes (chain.hpp), or a product with what comes after it (epilogue.hpp). They
// are offered and compiled by the same rules, so that a claim is compiled as it was offered.
//
// `choose(node, &refusal)` is the provider's: the kernel for a node, or null and why there is none. `settings` are those of the
// views of nodes. Their member `clamp`, of type Clamp, tells a kernel of the clamp of its epilogue; its sums are further inputs
// (kBiasInput, kAddendInput).
#ifndef TENON_EP_DEVICE_FUSED_NODES_HPP_
#define TENON_EP_DEVICE_FUSED_NODES_HPP_

#include <numeric>

#include "tenon/ep/device/chain.hpp"
#include "tenon/ep/device/epilogue.hpp"
#include "tenon/ep/device/followers.hpp"
#include "tenon/ep/device/shared_object.hpp"
#include "tenon/ep/kernel_node.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {
namespace detail {

/// The nodes of a claim that starts with `node`: a chain of element-wise nodes, or a node with its epilogue. None of them is
/// `claimed`, as the sum of two products by the first of them.
template <class Choose>
std::vector<uint32_t> nodes_to_fuse(const GraphView& graph, const Followers& followers, const NodeView& node,
                                    uint32_t index, const std::vector<bool>& claimed, ConstantStore& store,
                                    const ChainRules& rules, const Choose& choose) {
  std::vector<uint32_t> out{index};
  ChainPlan chain(rules);
  const bool is_chain = chain.append(node);
  Epilogue epilogue(node);
  const auto appends = [&](const NodeView& follower) {
    if (!is_chain) return epilogue.append(follower);
    Support refusal = Support::yes();
    return choose(follower, &refusal) != nullptr && chain.append(follower);
  };
  for (uint32_t next = followers.of(node); next != TENON_NO_INDEX && !claimed[next];) {
    const NodeView follower(graph, next, store, node.instance());
    if (!appends(follower)) break;
    out.push_back(next);
    next = followers.of(follower);
  }
  return out;
}

inline void require_offered(bool fits) {
  require(fits, TENON_INTERNAL, "the host compiles nodes together that were not offered together");
}

}  // namespace detail

/// Claims the nodes for which `choose` finds a kernel, and rejects the others. All values but shape inputs are in `domain`.
template <class Choose>
void offer_fused_nodes(const tenon_graph* raw, const tenon_claim_sink* sink, const InstanceSettings& settings,
                       uint32_t domain, const ChainRules& rules, const Choose& choose) {
  const GraphView graph(raw);
  const Followers followers(graph);
  std::vector<bool> claimed(graph.info().node_count, false);
  for (uint32_t i = 0; i < graph.info().node_count; ++i) {
    ConstantStore store;
    const NodeView node(graph, i, store, settings);
    if (claimed[i] || (node.info().flags & TENON_NODE_TAKEN) != 0) continue;
    Support refusal = Support::yes();
    const KernelEntry* entry = choose(node, &refusal);
    if (entry == nullptr) {
      reject_node(sink, i, refusal);
      continue;
    }
    const std::vector<uint32_t> nodes =
        detail::nodes_to_fuse(graph, followers, node, i, claimed, store, rules, choose);
    for (const uint32_t n : nodes) claimed[n] = true;
    claim_node(sink, node, nodes, *entry, domain);
  }
}

/// Compiles a claim of offer_fused_nodes() into `out`, and names its constants in `ids`. B: the backend of Chain. Returns how many
/// nodes' kernels the launches have the loops of: those of a chain, but only the first of a node with its epilogue. Errors do not
/// name the node.
template <class B, class Settings, class Choose>
uint32_t compile_fused_nodes(const GraphView& graph, Settings& settings, const Choose& choose,
                             KernelNode& out, ConstantIds& ids) {
  const uint32_t count = graph.info().node_count;
  const auto chosen = [&](const NodeView& node) {
    Support refusal = Support::yes();
    const KernelEntry* entry = choose(node, &refusal);
    if (entry == nullptr) fail(TENON_UNIMPLEMENTED, refusal.text());
    return entry;
  };
  const NodeView first = out.view(graph, 0, settings);
  const KernelEntry* entry = chosen(first);
  ids.identify(first);
  ChainPlan chain(B::kRules);
  if (count > 1 && chain.append(first)) {
    for (uint32_t i = 1; i < count; ++i) {
      const NodeView node = out.view(graph, i, settings);
      chosen(node);
      detail::require_offered(chain.append(node));
      ids.identify(node);
    }
    const std::vector<ValueView> operands = chain.operands();
    std::vector<int> inputs(operands.size());
    std::iota(inputs.begin(), inputs.end(), 0);
    out.compile_fused(graph, settings, operands,
                      std::make_unique<Chain<B>>(first, std::move(chain), std::move(inputs)));
    return count;
  }
  Epilogue epilogue(first);
  for (uint32_t i = 1; i < count; ++i) {
    const NodeView follower = out.view(graph, i, settings);
    detail::require_offered(epilogue.append(follower));
    ids.identify(follower);
  }
  settings.clamp = epilogue.clamp();
  out.compile(graph, first, *entry);
  if (epilogue.bias().present()) out.add_input(graph, kBiasInput, epilogue.bias());
  if (epilogue.addend().present()) out.add_input(graph, kAddendInput, epilogue.addend());
  if (count > 1) out.redirect_output(0);
  return 1;
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_FUSED_NODES_HPP_
