// The arguments of a kernel: PrepareContext once per shape signature, Context at every Run.
//
// Inputs and outputs are numbered as in the node, constants and missing inputs included. Compile computes the map
// from there to the arguments of the compiled claim, so that Run looks nothing up.
#ifndef TENON_EP_CONTEXT_HPP_
#define TENON_EP_CONTEXT_HPP_

#include <algorithm>
#include <atomic>

#include "tenon/ep/contract.hpp"
#include "tenon/ep/support.hpp"
#include "tenon/ep/trace.hpp"
#include "tenon/ep/value.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

namespace detail {

/// Maps a node's inputs and outputs to the arguments and results of the compiled claim.
struct NodeLayout {
  // Per node input: the index of the argument, or ~k for constants[k]. constants[0] stands for a missing input.
  std::vector<int32_t> inputs;
  // Per node output: the index of the result, or -1 for an unused output.
  std::vector<int32_t> outputs;
  std::vector<int32_t> packed_outputs;  // indices of results with elements smaller than a byte
  std::vector<tenon_tensor> constants{kNoTensor};
  ConstantStore store;
  std::string place;          // "node 'conv1' (Conv)"
  Contract contract;          // the kernel's, with this node's attributes
  uint64_t memory_limit = 0;  // of the instance, in bytes; 0: none

  const tenon_tensor* input(int i, const tenon_tensor* arguments) const {
    if (static_cast<size_t>(i) >= inputs.size()) return constants.data();
    const int32_t at = inputs[static_cast<size_t>(i)];
    return at >= 0 ? arguments + at : constants.data() + ~at;
  }
  int32_t output(int i) const {
    return static_cast<size_t>(i) < outputs.size() ? outputs[static_cast<size_t>(i)] : -1;
  }
};

/// Whether the caller, which may be another thread, has set the flag of a call. `flag` may be NULL.
inline bool is_cancelled(const uint32_t* flag) {
  return flag != nullptr &&
         std::atomic_ref<uint32_t>(*const_cast<uint32_t*>(flag)).load(std::memory_order_relaxed) != 0;
}

/// Adapts a function over a range to the host's parallel_for. Keeps the first exception for the calling thread.
template <class F>
struct RangeCall {
  F& function;
  std::atomic<bool> failed{false};
  std::exception_ptr error = nullptr;

  static void run(void* context, uint32_t worker, int64_t begin, int64_t end) noexcept {
    auto& self = *static_cast<RangeCall*>(context);
    if (self.failed.load(std::memory_order_relaxed)) return;
    try {
      self.call(worker, begin, end);
    } catch (...) {
      if (!self.failed.exchange(true)) self.error = std::current_exception();
    }
  }
  void call(uint32_t worker, int64_t begin, int64_t end) {
    if constexpr (std::is_invocable_v<F&, uint32_t, int64_t, int64_t>) {
      function(worker, begin, end);
    } else {
      (void)worker;
      function(begin, end);
    }
  }
};

}  // namespace detail

/// Calls f(begin, end) or f(worker, begin, end) over [0, n) in pieces of at least `grain`. A single piece runs on this
/// thread. worker < host().worker_count(run). `run` may be NULL, in compile. Throws the first exception of a piece.
template <class F>
void parallel_for(tenon_run* run, int64_t n, int64_t grain, F& function) {
  if (n <= 0) return;
  detail::RangeCall<F> call{function};
  if (n <= grain) return call.call(0, 0, n);
  host().parallel_for(run, n, grain, &detail::RangeCall<F>::run, &call);
  if (call.error) std::rethrow_exception(call.error);
}

/// One Run of a node. Valid until the kernel's run returns. Thread-safe.
class Context {
 public:
  Context(const tenon_run_args& args, const detail::NodeLayout& layout) : args_(args), layout_(layout) {}

  int input_count() const { return static_cast<int>(layout_.inputs.size()); }
  int output_count() const { return static_cast<int>(layout_.outputs.size()); }
  TensorView input(int i) const { return TensorView(layout_.input(i, args_.inputs)); }
  bool has_input(int i) const { return input(i).present(); }
  bool is_constant(int i) const { return i < input_count() && layout_.inputs[static_cast<size_t>(i)] < 0; }

  /// Call only for outputs that are used: has_output() tells for all but the first.
  OutputTensor output(int i) const { return OutputTensor(&args_.outputs[layout_.output(i)]); }
  bool has_output(int i) const { return layout_.output(i) >= 0; }
  /// Memory for an output that prepare declared with set_at_run().
  OutputTensor alloc_output(int i, DimsView dims) const {
    const auto at = static_cast<uint32_t>(layout_.output(i));
    call_host(host().alloc_output, args_.run, at, static_cast<uint32_t>(dims.size()), dims.data(),
              &args_.outputs[at]);
    return output(i);
  }
  void set_strings(int i, DimsView dims, const StringBuilder& strings) const {
    require(strings.size() == element_count(dims), TENON_INTERNAL, strings.size(), " strings for shape ",
            dims);
    call_host(host().set_strings, args_.run, static_cast<uint32_t>(layout_.output(i)),
              static_cast<uint32_t>(dims.size()), dims.data(), strings.offsets(), strings.bytes());
  }
  /// Gives the host a sequence, optional or map. An empty ValueRef is an empty optional.
  void set_object(int i, ValueRef value) const {
    call_host(host().set_object, args_.run, static_cast<uint32_t>(layout_.output(i)), value.release());
  }
  /// Input `i` as a value for a sequence or optional. The host shares the data if it can.
  ValueRef input_value(int i) const {
    const TensorView in = input(i);
    if (!in.present()) return ValueRef();
    if (in.kind() != TENON_KIND_TENSOR) return ValueRef::shared(in.raw()->object);
    if (is_constant(i)) return copy_to_value(in);
    tenon_value* value = nullptr;
    const tenon_status status = host().value_from_input(
        args_.run, static_cast<uint32_t>(layout_.inputs[static_cast<size_t>(i)]), &value, nullptr);
    require(status == TENON_OK, status, "input ", i, " cannot be kept as a value");
    return ValueRef::adopt(value);
  }

  /// ep::parallel_for of this Run; worker < worker_count().
  template <class F>
  void parallel_for(int64_t n, int64_t grain, F&& function) const {
    ep::parallel_for(args_.run, n, grain, function);
  }
  uint32_t worker_count() const { return host().worker_count(args_.run); }

  /// Uninitialised memory, 64-byte aligned, valid until the kernel's run returns. Throws Error when there is none.
  template <class T>
  T* scratch(int64_t elements) const {
    void* memory = host().scratch(args_.run, static_cast<uint64_t>(elements) * sizeof(T));
    require(memory != nullptr, TENON_RESOURCE_EXHAUSTED, "no scratch memory for ", elements, " elements");
    return static_cast<T*>(memory);
  }
  /// The memory that prepare asked for with PrepareContext::workspace(); NULL without one.
  void* workspace() const { return args_.workspace == nullptr ? nullptr : args_.workspace->data; }

  bool cancelled() const { return detail::is_cancelled(args_.cancel); }
  void check_cancelled() const {
    if (cancelled()) [[unlikely]]
      fail(TENON_CANCELLED, "cancelled");
  }
  /// "node 'conv1' (Conv)". Errors need not name it: the border adds it.
  const std::string& place() const { return layout_.place; }
  const tenon_run_args& args() const { return args_; }

 private:
  const tenon_run_args& args_;
  const detail::NodeLayout& layout_;
};

/// One shape signature of a node.
class PrepareContext {
 public:
  PrepareContext(tenon_prepare_args& args, const detail::NodeLayout& layout) : args_(args), layout_(layout) {}

  int input_count() const { return static_cast<int>(layout_.inputs.size()); }
  int output_count() const { return static_cast<int>(layout_.outputs.size()); }
  /// Type and shape. Data only of constants and of the kernel's shape inputs.
  TensorView input(int i) const { return TensorView(layout_.input(i, args_.inputs)); }
  bool has_input(int i) const { return input(i).present(); }
  bool has_output(int i) const { return layout_.output(i) >= 0; }

  /// Whether the shape of output `i` is known, from the host's inference or set_output().
  bool knows_output(int i) const { return has_output(i) && (shape(i).flags & TENON_SHAPE_KNOWN) != 0; }
  DimsView output(int i) const { return {shape(i).dims, shape(i).rank}; }
  /// Sets the shape of an output; ignored for an unused output. Throws when the host inferred another shape.
  void set_output(int i, DimsView dims) {
    if (!has_output(i)) return;
    require(dims.size() <= TENON_EP_MAX_RANK, TENON_INVALID_ARGUMENT, "rank ", dims.size(), " is too large");
    require(std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; }), TENON_INVALID_ARGUMENT,
            "output ", i, " would have the shape ", dims, ", but a dim cannot be negative");
    if (knows_output(i)) {
      require(std::equal(dims.begin(), dims.end(), shape(i).dims, shape(i).dims + shape(i).rank),
              TENON_INVALID_ARGUMENT, "output ", i, " has shape ", dims, " but ", output(i), " was inferred");
      return;
    }
    tenon_shape& out = args_.outputs[layout_.output(i)];
    for (size_t d = 0; d < dims.size(); ++d) out.dims[d] = dims[d];
    out.rank = static_cast<uint32_t>(dims.size());
    out.flags = TENON_SHAPE_KNOWN;
  }
  /// The shape is known only after running, even if the host has inferred one. The kernel calls alloc_output().
  void set_at_run(int i) {
    if (has_output(i)) args_.outputs[layout_.output(i)].flags = TENON_SHAPE_AT_RUN;
  }

  /// Output `out` may take the memory of input `in`, which has as many bytes. Run reads each element before it writes
  /// there.
  void may_overwrite(int out, int in) { alias(out, in, TENON_ALIAS_MAY_OVERWRITE, 0); }
  /// Output `out` is the bytes of input `in` from `byte_offset` on. Run must copy when the addresses differ.
  void view(int out, int in, uint64_t byte_offset = 0) { alias(out, in, TENON_ALIAS_VIEW, byte_offset); }
  /// Asks for memory for Run, with a power of two as alignment; both in bytes.
  void workspace(uint64_t bytes, uint32_t alignment = 64) {
    args_.workspace_bytes = bytes;
    args_.workspace_alignment = alignment;
  }
  /// Call before allocating tables whose size depends on the shapes. Throws RESOURCE_EXHAUSTED when `bytes` exceeds
  /// the instance's memory limit. `what` names the tables.
  void require_memory(uint64_t bytes, std::string_view what) const {
    require(layout_.memory_limit == 0 || bytes <= layout_.memory_limit, TENON_RESOURCE_EXHAUSTED, what,
            " need ", bytes, " bytes, and the limit is ", layout_.memory_limit);
  }
  bool cancelled() const {
    return args_.struct_size >= offsetof(tenon_prepare_args, cancel) + sizeof(args_.cancel) &&
           detail::is_cancelled(args_.cancel);
  }
  /// Throws CANCELLED when the caller has cancelled. Long work calls this regularly, in prepare as in Run.
  void check_cancelled() const {
    if (cancelled()) [[unlikely]]
      fail(TENON_CANCELLED, "cancelled");
  }
  const std::string& place() const { return layout_.place; }

 private:
  const tenon_shape& shape(int i) const { return args_.outputs[layout_.output(i)]; }
  void alias(int out, int in, uint32_t kind, uint64_t byte_offset) {
    if (!has_output(out) || args_.aliases == nullptr) return;
    if (static_cast<size_t>(in) >= layout_.inputs.size()) return;
    const int32_t from = layout_.inputs[static_cast<size_t>(in)];
    if (from < 0) return;  // a constant is not overwritten, and no output may be a view of it
    args_.aliases[layout_.output(out)] = {kind, static_cast<uint32_t>(from), byte_offset};
  }

  tenon_prepare_args& args_;
  const detail::NodeLayout& layout_;
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_CONTEXT_HPP_
