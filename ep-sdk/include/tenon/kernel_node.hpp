// For a provider that registers kernels with TENON_KERNEL but writes its own table, because it has memory, streams or
// bindings that TENON_KERNEL_PROVIDER does not support. Its functions use:
//
//   capability        for each node: choose_kernel(), then claim_node() or reject_node()
//   compile           a KernelNode, kept as the program
//   prepare           KernelNode::prepare
//   prepared_destroy  KernelNode::destroy_prepared
//   run               KernelNode::run; a provider that records commands calls it in bind instead
//
// Kernels see the tenon_run_args in Context::args(). A provider may pass a struct derived from it.
#ifndef TENON_KERNEL_NODE_HPP_
#define TENON_KERNEL_NODE_HPP_

#include <functional>

#include "tenon/detail/provider.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::ep {

/// A copy of a struct that a host of any minor version passed; fields beyond its size are zero.
template <class Params>
Params read_params(const Params* from) {
  return detail::read_struct(from);
}

/// Call in a catch block: fills `error` from the current exception and `place`, and returns the status.
inline tenon_status report_error(tenon_error* error, std::string_view place) noexcept {
  return detail::report(error, place);
}

/// Calls a function of the host whose last parameter is a tenon_error; throws Error when it fails.
template <class F, class... Args>
void call_sink(F* function, Args... args) {
  detail::call_host(function, args...);
}

/// A compiled node: its kernel, and the map from its inputs and outputs to the claim's. Thread-safe once compiled.
class KernelNode {
 public:
  KernelNode() = default;
  KernelNode(const KernelNode&) = delete;
  KernelNode& operator=(const KernelNode&) = delete;

  /// Node `index` of the view in compile. Descriptors of constants live as long as this object. `settings` must
  /// outlive the view. It may be derived from InstanceSettings: kernels read it through NodeView::instance().
  NodeView view(const GraphView& graph, uint32_t index, const InstanceSettings& settings) {
    return NodeView(graph, index, node_.layout.store, settings);
  }

  /// Makes the kernel. place() names the node from then on.
  void compile(const GraphView& graph, const NodeView& node, const KernelEntry& entry) {
    node_.layout.place = detail::place_of(node);
    detail::compile_kernel(entry, graph, node, node_);
  }
  /// For a node that is fused with a later node of the claim: its only output becomes result `result` of the claim.
  void redirect_output(int32_t result) { node_.layout.outputs.assign(1, result); }

  /// `args` as the host passed them. A workspace, if the kernel asks for one, is in `workspace_domain`. Throws.
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

  /// Calls the kernel's `run` with the state that its `prepare` made. Throws.
  void run(const tenon_run_args& args) const {
    const Context context(args, node_.layout);
    node_.ops->run(node_.kernel, reinterpret_cast<const detail::Prepared*>(args.prepared)->state, context);
  }
  /// The Context that run() would pass, for a provider that launches the kernel itself.
  Context context(const tenon_run_args& args) const { return Context(args, node_.layout); }

  /// Whether a descriptor from a Context belongs to a constant.
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
