// TENON_KERNEL at the end of a kernel's file registers the kernel. No other place names it.
//
//   struct Relu {
//     static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes); }
//     void run(const Context& ctx) const { ... }
//   };
//   TENON_KERNEL(Relu, .op_type = "Relu", .since = 6)
//
// A kernel is a struct K with `run` and any of the other members:
//   explicit K(const NodeView&)                  reads attributes and constants, once per node
//   static Support supports(const NodeView&)     whether K supports the node; pure; default: yes
//   static constexpr int shape_inputs[] = {1};   inputs whose values prepare reads
//   static std::vector<int> shape_inputs(const NodeView&)     the same as a function
//   void prepare(PrepareContext&) const          sets output shapes (default: as the host inferred), aliases, workspace
//   void run(const Context&) const
// A kernel that computes something per shape signature returns it from prepare and gets it in run. State is any type;
// it does not change after prepare:
//   State prepare(PrepareContext&) const
//   void run(const Context&, const State&) const
// A kernel of a device has `record` instead of `run`. It lists its work in the provider's Recorder, a class derived from
// Context, which KernelNode::record() passes:
//   void record(Recorder&) const      or      void record(Recorder&, const State&) const
// Errors are thrown with fail(). All threads share a kernel: its members do not change after construction.
#ifndef TENON_EP_KERNEL_HPP_
#define TENON_EP_KERNEL_HPP_

#include <limits>

#include "tenon/ep/context.hpp"
#include "tenon/ep/contract.hpp"
#include "tenon/ep/registry.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// What a kernel is registered for. Operator versions are those of schemas: Relu at opset 20 is version 14.
struct KernelSpec {
  std::string_view domain = "";
  std::string_view op_type = {};
  int since = 1;
  int until = std::numeric_limits<int>::max();  // inclusive
  int priority = 0;  // of several kernels that support a node, the highest is chosen
  std::string_view contract =
      {};  // what the kernel demands of input shapes; see contract.hpp. Empty: it checks them itself
};

/// The functions of a kernel, without its type.
struct KernelOps {
  Support (*supports)(const NodeView&);
  std::vector<int> (*shape_inputs)(const NodeView&);
  void* (*create)(const NodeView&);
  void (*destroy)(void* kernel);
  void* (*prepare)(const void* kernel,
                   PrepareContext&);  // returns the state or NULL; a NULL pointer: K has no prepare
  void (*destroy_state)(void* state);
  void (*run)(const void* kernel, const void* state, const Context&);        // NULL: K has `record`
  void (*record)(const void* kernel, const void* state, Context& recorder);  // NULL: K has `run`
  const void* recorder;  // the class that `record` takes: kRecorderId of it
};

struct KernelEntry {
  KernelSpec spec;
  KernelOps ops;
  KernelEntry* next = nullptr;
};

namespace detail {

template <class K>
concept HasSupports = requires(const NodeView& n) {
  K::supports(n);
};
template <class K>
concept HasShapeInputList = requires {
  std::begin(K::shape_inputs);
};
template <class K>
concept HasShapeInputFunction = requires(const NodeView& n) {
  K::shape_inputs(n);
};
template <class K>
concept HasPrepare = requires(const K& k, PrepareContext& p) {
  k.prepare(p);
};
template <class K>
concept HasState = HasPrepare<K> &&
    !std::is_void_v<decltype(std::declval<const K&>().prepare(std::declval<PrepareContext&>()))>;
template <class K>
concept HasRecord = requires {
  &K::record;
};

/// Has one address per class in a library.
template <class Recorder>
inline constexpr char kRecorderId = 0;

template <class Member>
struct RecorderOf;
template <class K, class Recorder>
struct RecorderOf<void (K::*)(Recorder&) const> {
  using Type = Recorder;
};
template <class K, class Recorder, class State>
struct RecorderOf<void (K::*)(Recorder&, State) const> {
  using Type = Recorder;
};

template <class K>
struct StateOf {
  using Type =
      std::remove_cvref_t<decltype(std::declval<const K&>().prepare(std::declval<PrepareContext&>()))>;
};

template <class K>
Support supports(const NodeView& node) {
  if constexpr (HasSupports<K>) {
    return K::supports(node);
  } else {
    (void)node;
    return Support::yes();
  }
}

template <class K>
std::vector<int> shape_inputs(const NodeView& node) {
  (void)node;
  if constexpr (HasShapeInputFunction<K>) {
    return K::shape_inputs(node);
  } else if constexpr (HasShapeInputList<K>) {
    return {std::begin(K::shape_inputs), std::end(K::shape_inputs)};
  } else {
    return {};
  }
}

template <class K>
void* create(const NodeView& node) {
  if constexpr (std::is_constructible_v<K, const NodeView&>) {
    return new K(node);
  } else {
    (void)node;
    return new K();
  }
}

template <class K>
void* prepare(const void* kernel, PrepareContext& context) {
  if constexpr (HasState<K>) {
    return new auto(static_cast<const K*>(kernel)->prepare(context));
  } else {
    static_cast<const K*>(kernel)->prepare(context);
    return nullptr;
  }
}

template <class K>
void run(const void* kernel, const void* state, const Context& context) {
  if constexpr (HasState<K>) {
    static_cast<const K*>(kernel)->run(context, *static_cast<const typename StateOf<K>::Type*>(state));
  } else {
    (void)state;
    static_cast<const K*>(kernel)->run(context);
  }
}

template <class K, class Recorder>
void record(const void* kernel, const void* state, Context& context) {
  auto& recorder = static_cast<Recorder&>(context);
  if constexpr (HasState<K>) {
    static_cast<const K*>(kernel)->record(recorder, *static_cast<const typename StateOf<K>::Type*>(state));
  } else {
    (void)state;
    static_cast<const K*>(kernel)->record(recorder);
  }
}

template <class K>
constexpr KernelOps make_ops() {
  KernelOps ops{&supports<K>, &shape_inputs<K>, &create<K>, [](void* k) { delete static_cast<K*>(k); },
                nullptr,      [](void*) {},     nullptr,    nullptr,
                nullptr};
  if constexpr (HasPrepare<K>) ops.prepare = &prepare<K>;
  if constexpr (HasState<K>)
    ops.destroy_state = [](void* state) { delete static_cast<typename StateOf<K>::Type*>(state); };
  if constexpr (HasRecord<K>) {
    using Recorder = typename RecorderOf<decltype(&K::record)>::Type;
    static_assert(std::is_base_of_v<Context, Recorder>, "the Recorder of a kernel is derived from Context");
    ops.record = &record<K, Recorder>;
    ops.recorder = &kRecorderId<Recorder>;
  } else {
    ops.run = &run<K>;
  }
  return ops;
}

}  // namespace detail

/// All kernels of this library.
using KernelRegistry = Registry<KernelEntry>;

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#define TENON_KERNEL_JOIN2_(a, b) a##b
#define TENON_KERNEL_JOIN_(a, b) TENON_KERNEL_JOIN2_(a, b)
#define TENON_KERNEL_AT_(K, n, ...)                                                                      \
  namespace {                                                                                            \
  constinit ::tenon::ep::KernelEntry TENON_KERNEL_JOIN_(tenon_kernel_, n){                               \
      ::tenon::ep::KernelSpec{__VA_ARGS__}, ::tenon::ep::detail::make_ops<K>()};                         \
  [[maybe_unused]] const ::tenon::ep::KernelRegistry::Registrar TENON_KERNEL_JOIN_(tenon_registrar_, n){ \
      TENON_KERNEL_JOIN_(tenon_kernel_, n)};                                                             \
  }

/// Registers kernel K: TENON_KERNEL(Relu, .op_type = "Relu", .since = 6, .until = 12). KernelSpec has the fields.
#define TENON_KERNEL(K, ...) TENON_KERNEL_AT_(K, __COUNTER__, __VA_ARGS__)

#endif  // TENON_EP_KERNEL_HPP_
