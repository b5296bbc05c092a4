// Kernels behind a table of one's own: for a provider that registers kernels with TENON_KERNEL, and whose memory,
// streams or bindings TENON_KERNEL_PROVIDER does not know.
//
//   offer    for each node: choose_kernel(), then claim_node() or reject_node()
//   compile  a KernelNode, kept as the program
//   prepare  KernelNode::prepare, prepared_destroy: KernelNode::destroy_prepared
//   run      KernelNode::run; or, where a binding records what a Run repeats, in bind
//
// A kernel's `run` may find more than the border gives behind Context::args(): pass a struct derived from tenon_run_args.
#ifndef TENON_KERNEL_NODE_HPP_
#define TENON_KERNEL_NODE_HPP_

#include <functional>

#include "tenon/detail/provider.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::ep {

/// What a host of another minor passed: fields beyond its size are zero.
template <class Params>
Params read_params(const Params* from) {
  return detail::read_struct(from);
}

/// Inside a catch block: the exception in flight as a status, with the place it concerns.
inline tenon_status report_error(tenon_error* error, std::string_view place) noexcept {
  return detail::report(error, place);
}

/// Calls the host's side of a sink; throws what it answers.
template <class F, class... Args>
void call_sink(F* function, Args... args) {
  detail::call_host(function, args...);
}

/// The registered kernel that takes the node. NULL when none does; then `out_refusal` says why. Pure.
inline const KernelEntry* choose_kernel(const NodeView& node, Support* out_refusal) {
  return detail::choose(node, out_refusal);
}

inline void reject_node(const tenon_claim_sink* sink, uint32_t index, const Support& support) {
  detail::emit_rejection(sink, index, support);
}

/// Claims `nodes`, the first of which is `node` with its kernel. All values are in `domain`, but for the kernel's shape
/// inputs, which are in the host's memory.
inline void claim_node(const tenon_claim_sink* sink, const NodeView& node, std::span<const uint32_t> nodes,
                       const KernelEntry& entry, uint32_t domain) {
  detail::emit_claim(sink, node, nodes, entry, domain);
}

/// A compiled node: its kernel, and the way from the node's positions to those of the claim. Thread-safe once compiled.
class KernelNode {
 public:
  KernelNode() = default;
  KernelNode(const KernelNode&) = delete;
  KernelNode& operator=(const KernelNode&) = delete;

  /// Node `index` of a compiled view. What it gives of constants lives as long as this object. `context` must outlive
  /// the view, and may be derived from InstanceContext: kernels find it behind NodeView::instance().
  NodeView view(const GraphView& graph, uint32_t index, const InstanceContext& context) {
    return NodeView(graph, index, node_.layout.store, context);
  }

  /// Makes the kernel. Errors name the node from then on.
  void compile(const GraphView& graph, const NodeView& node, const KernelEntry& entry) {
    node_.layout.place = detail::place_of(node);
    detail::compile_kernel(entry, graph, node, node_);
  }
  /// The node's only output is result `result` of the claim, though the view says otherwise: a later node of the claim
  /// is done with this one.
  void redirect_output(int32_t result) { node_.layout.outputs.assign(1, result); }

  /// Throws; `args` as the host gave them. The workspace, when there is one, is put into `workspace_domain`.
  tenon_prepared* prepare(tenon_prepare_args& args, uint32_t workspace_domain) const {
    detail::Prepared* out = detail::prepare_node(node_, args);
    if (args.workspace_bytes != 0) args.workspace_domain = workspace_domain;
    return reinterpret_cast<tenon_prepared*>(out);
  }
  static void destroy_prepared(tenon_prepared* raw) {
    auto* prepared = reinterpret_cast<detail::Prepared*>(raw);
    if (prepared == nullptr || prepared == &detail::g_stateless) return;
    prepared->ops->destroy_state(prepared->state);
    delete prepared;
  }

  /// The kernel's `run`, with what its `prepare` made. Throws.
  void run(const tenon_run_args& args) const {
    const Context context(args, node_.layout);
    node_.ops->run(node_.kernel, reinterpret_cast<const detail::Prepared*>(args.prepared)->state, context);
  }
  /// As run(), for what is launched with the same arguments by another way: a Context over `args`.
  Context context(const tenon_run_args& args) const { return Context(args, node_.layout); }

  /// Whether a descriptor that a Context gave is that of a constant.
  bool is_constant(const tenon_tensor* tensor) const {
    const std::vector<tenon_tensor>& all = node_.layout.constants;
    return !std::less<>()(tensor, all.data()) && std::less<>()(tensor, all.data() + all.size());
  }
  /// "node 'conv1' (Conv)"; empty before compile().
  const std::string& place() const { return node_.layout.place; }

 private:
  detail::Program node_;
};

}  // namespace tenon::ep
#pragma GCC visibility pop
#endif  // TENON_KERNEL_NODE_HPP_
