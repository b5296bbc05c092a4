// A node compiled to its kernel: prepared once per shape signature, then run.
#ifndef TENON_EP_KERNEL_NODE_HPP_
#define TENON_EP_KERNEL_NODE_HPP_

#include <functional>

#include "tenon/ep/claims.hpp"
#include "tenon/ep/kernel.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {
namespace detail {

inline int32_t position(std::span<const uint32_t> values, uint32_t value) {
  const auto at = std::find(values.begin(), values.end(), value);
  return at == values.end() ? -1 : static_cast<int32_t>(at - values.begin());
}

inline void lay_out_input(const GraphView& graph, const ValueView& value, NodeLayout& layout) {
  if (!value.present()) {
    layout.inputs.push_back(~0);
    return;
  }
  if (value.is_constant()) {
    layout.constants.push_back(*value.constant().raw());
    layout.inputs.push_back(~static_cast<int32_t>(layout.constants.size() - 1));
    return;
  }
  const int32_t at = position({graph.info().inputs, graph.info().input_count}, value.index());
  require(at >= 0, TENON_INTERNAL, "input '", value.name(),
          "' is neither a constant nor an input of the claim");
  layout.inputs.push_back(at);
}

inline void lay_out(const GraphView& graph, const NodeView& node, NodeLayout& layout) {
  const std::span<const uint32_t> results(graph.info().outputs, graph.info().output_count);
  for (int i = 0; i < node.input_count(); ++i) lay_out_input(graph, node.input(i), layout);
  for (int i = 0; i < node.output_count(); ++i) {
    layout.outputs.push_back(node.has_output(i) ? position(results, node.output(i).index()) : -1);
    const bool packed = node.has_output(i) && dtype_bits(node.output(i).dtype()) % 8 != 0;
    if (packed && layout.outputs.back() >= 0) layout.packed_outputs.push_back(layout.outputs.back());
  }
}

/// Zeroes the bits that pad the last byte of packed elements (R42), unless the byte belongs to an input.
inline void clear_padding(const NodeLayout& layout, const tenon_run_args& args) {
  for (const int32_t at : layout.packed_outputs) {
    const tenon_tensor& out = args.outputs[at];
    const uint64_t bits = element_count({out.dims, out.rank}) * dtype_bits(out.dtype);
    if (out.data == nullptr || out.kind != TENON_KIND_TENSOR || bits % 8 == 0) continue;
    auto* last = static_cast<unsigned char*>(out.data) + bits / 8;
    const auto holds = [&](const tenon_tensor& in) {
      const auto* begin = static_cast<const unsigned char*>(in.data);
      return begin != nullptr && last >= begin && last < begin + in.byte_size;
    };
    if (!std::any_of(args.inputs, args.inputs + args.input_count, holds))
      *last = static_cast<unsigned char>(*last & ((1u << bits % 8) - 1));
  }
}

/// Requires that the kernel or the host's inference has answered each output shape.
inline void require_shapes(const tenon_prepare_args& args) {
  for (uint32_t i = 0; i < args.output_count; ++i) {
    // For an output that is not a tensor the host has set AT_RUN.
    require(args.outputs[i].flags != 0, TENON_INVALID_ARGUMENT, "the shape of output ", i,
            " cannot be determined from the inputs");
  }
}

inline std::optional<DimsView> input_dims(const NodeLayout& layout, const tenon_prepare_args& args, int i) {
  const tenon_tensor* input = layout.input(i, args.inputs);
  if (input->kind != TENON_KIND_TENSOR) return std::nullopt;
  return DimsView(input->dims, input->rank);
}

/// Throws for input shapes that break the kernel's contract.
inline void require_contract(const NodeLayout& layout, const tenon_prepare_args& args) {
  const std::string refusal = layout.contract.check(static_cast<int>(layout.inputs.size()),
                                                    [&](int i) { return input_dims(layout, args, i); });
  if (!refusal.empty()) fail(TENON_INVALID_ARGUMENT, refusal);
}

}  // namespace detail

/// What a kernel's prepare computed for one shape signature. Kernels without state share one object.
struct PreparedNode {
  const KernelOps* ops = nullptr;
  void* state = nullptr;

  struct Delete {
    void operator()(PreparedNode* node) const noexcept {
      if (node == &stateless) return;
      node->ops->destroy_state(node->state);
      delete node;
    }
  };
  static PreparedNode stateless;
};
inline PreparedNode PreparedNode::stateless;
using PreparedNodePtr = std::unique_ptr<PreparedNode, PreparedNode::Delete>;

/// A compiled node: its kernel, and the map from its inputs and outputs to the claim's. Thread-safe once compiled.
class KernelNode {
 public:
  KernelNode() = default;
  KernelNode(const KernelNode&) = delete;
  KernelNode& operator=(const KernelNode&) = delete;
  ~KernelNode() {
    if (kernel_ != nullptr) ops_->destroy(kernel_);
  }

  /// Node `index` of the view in compile. Descriptors of constants live as long as this object. `settings` must
  /// outlive the view. It may be derived from InstanceSettings: kernels read it through NodeView::instance().
  NodeView view(const GraphView& graph, uint32_t index, const InstanceSettings& settings) {
    NodeView node(graph, index, layout_.store, settings);
    if (layout_.place.empty()) layout_.place = cat("node '", node.name(), "' (", node.op(), ")");
    return node;
  }
  /// "node 'conv1' (Conv)", of the first view(); empty before.
  const std::string& place() const { return layout_.place; }

  /// Makes the kernel. Throws what its constructor throws.
  void compile(const GraphView& graph, const NodeView& node, const KernelEntry& entry) {
    ops_ = &entry.ops;
    layout_.contract = contract_of(entry, node);
    layout_.memory_limit = node.instance().memory_limit;
    detail::lay_out(graph, node, layout_);
    kernel_ = entry.ops.create(node);
  }
  /// The same for the only node of a view, with the kernel that supports it. Errors name the node.
  void compile(const GraphView& graph, const InstanceSettings& settings) {
    require(graph.info().node_count == 1, TENON_INTERNAL, "this provider never made a claim of ",
            graph.info().node_count, " nodes");
    const NodeView node = view(graph, 0, settings);
    try {
      Support refusal = Support::yes();
      const KernelEntry* entry = choose_kernel(node, &refusal);
      if (entry == nullptr) fail(TENON_UNIMPLEMENTED, refusal.text());
      compile(graph, node, *entry);
    } catch (Error& e) {
      e.text = cat(place(), ": ", e.text);
      throw;
    }
  }
  /// Takes the kernel of a claim of several nodes with `outputs` outputs. Its inputs are `inputs`, in this order. K is a class
  /// as for TENON_KERNEL, but without supports(); no contract is checked for it.
  template <class K>
  void compile_fused(const GraphView& graph, const InstanceSettings& settings,
                     std::span<const ValueView> inputs, std::unique_ptr<K> kernel, uint32_t outputs = 1) {
    static constexpr KernelOps kOps = detail::make_ops<K>();
    ops_ = &kOps;
    layout_.memory_limit = settings.memory_limit;
    for (const ValueView& input : inputs) detail::lay_out_input(graph, input, layout_);
    for (uint32_t i = 0; i < outputs; ++i) layout_.outputs.push_back(static_cast<int32_t>(i));
    kernel_ = kernel.release();
  }
  /// For a node that is fused with a later node of the claim: gives the kernel input `i`, which the node itself does not have.
  void add_input(const GraphView& graph, int i, const ValueView& value) {
    const auto at = static_cast<size_t>(i);
    while (layout_.inputs.size() < at) layout_.inputs.push_back(~0);
    require(layout_.inputs.size() == at || layout_.inputs[at] == ~0, TENON_INTERNAL, "input ", i,
            " of the kernel is given twice");
    layout_.inputs.resize(at);
    detail::lay_out_input(graph, value, layout_);
  }
  /// For a node that is fused with a later node of the claim: its only output becomes result `result` of the claim.
  void redirect_output(int32_t result) { layout_.outputs.assign(1, result); }

  /// `args` as the host passed them. Throws INVALID_ARGUMENT when input shapes break the kernel's contract or an output
  /// has no shape.
  PreparedNodePtr prepare(tenon_prepare_args& args) const {
    detail::require_contract(layout_, args);
    PrepareContext context(args, layout_);
    void* state = ops_->prepare == nullptr ? nullptr : ops_->prepare(kernel_, context);
    PreparedNodePtr out(&PreparedNode::stateless);
    if (state != nullptr) {
      auto* made = new (std::nothrow) PreparedNode{ops_, state};
      if (made == nullptr) {
        ops_->destroy_state(state);
        throw std::bad_alloc();
      }
      out.reset(made);
    }
    detail::require_shapes(args);
    return out;
  }

  /// The shape of input `i` of the node in a call of prepare. Nothing for a missing input and for what is not a tensor.
  std::optional<Dims> input_dims(const tenon_prepare_args& args, int i) const {
    const std::optional<DimsView> dims = detail::input_dims(layout_, args, i);
    return dims ? std::optional<Dims>(Dims(dims->begin(), dims->end())) : std::nullopt;
  }

  /// Calls the kernel's `run` with the state that its `prepare` made. Throws; INTERNAL for a kernel that has `record`.
  void run(const tenon_run_args& args) const {
    require(ops_->run != nullptr, TENON_INTERNAL, "the kernel records its work, but the provider runs it");
    ops_->run(kernel_, reinterpret_cast<const PreparedNode*>(args.prepared)->state, Context(args, layout_));
    if (!layout_.packed_outputs.empty()) [[unlikely]]
      detail::clear_padding(layout_, args);
  }

  /// Calls the kernel's `record` with the state that its `prepare` made. `recorder` is made of context(). Throws; INTERNAL
  /// for a kernel that has `run`, or whose `record` takes another class.
  template <class Recorder>
  void record(Recorder& recorder) const {
    require(ops_->recorder == &detail::kRecorderId<Recorder>, TENON_INTERNAL,
            "the kernel does not record with the Recorder of this provider");
    ops_->record(kernel_, reinterpret_cast<const PreparedNode*>(recorder.args().prepared)->state, recorder);
  }

  /// What a Recorder is made of. `args` must outlive it.
  Context context(const tenon_run_args& args) const { return Context(args, layout_); }

  /// Whether a descriptor from a Context belongs to a constant.
  bool is_constant(const tenon_tensor* tensor) const {
    const std::vector<tenon_tensor>& all = layout_.constants;
    return !std::less<>()(tensor, all.data()) && std::less<>()(tensor, all.data() + all.size());
  }

 private:
  const KernelOps* ops_ = nullptr;
  void* kernel_ = nullptr;
  detail::NodeLayout layout_;
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_KERNEL_NODE_HPP_
