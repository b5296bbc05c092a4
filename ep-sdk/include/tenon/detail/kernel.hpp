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
// Errors are thrown with fail(). All threads share a kernel: its members do not change after construction.
#ifndef TENON_DETAIL_KERNEL_HPP_
#define TENON_DETAIL_KERNEL_HPP_

#include <algorithm>
#include <limits>
#include <tuple>

#include "tenon/detail/context.hpp"
#include "tenon/detail/contract.hpp"

#pragma GCC visibility push(hidden)
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
  void (*run)(const void* kernel, const void* state, const Context&);
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
concept HasState = HasPrepare<K> && requires(const K& k, PrepareContext& p, const Context& c) {
  k.run(c, k.prepare(p));
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
    using State =
        std::remove_cvref_t<decltype(std::declval<const K&>().prepare(std::declval<PrepareContext&>()))>;
    static_cast<const K*>(kernel)->run(context, *static_cast<const State*>(state));
  } else {
    (void)state;
    static_cast<const K*>(kernel)->run(context);
  }
}

template <class K>
constexpr KernelOps make_ops() {
  KernelOps ops{&supports<K>, &shape_inputs<K>, &create<K>, [](void* k) { delete static_cast<K*>(k); },
                nullptr,      [](void*) {},     &run<K>};
  if constexpr (HasPrepare<K>) ops.prepare = &prepare<K>;
  if constexpr (HasState<K>) {
    using State =
        std::remove_cvref_t<decltype(std::declval<const K&>().prepare(std::declval<PrepareContext&>()))>;
    ops.destroy_state = [](void* state) { delete static_cast<State*>(state); };
  }
  return ops;
}

inline constinit KernelEntry* g_kernels = nullptr;

struct KernelRegistrar {
  explicit KernelRegistrar(KernelEntry& entry) {
    entry.next = g_kernels;
    g_kernels = &entry;
  }
};

inline auto order_of(const KernelSpec& s) { return std::tuple(s.domain, s.op_type, -s.priority, s.since); }

/// ONNX's own domain has two names, "" and "ai.onnx". Both become "".
inline std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

}  // namespace detail

/// All kernels of this library, sorted by (domain, operator, descending priority, version).
class KernelRegistry {
 public:
  static const KernelRegistry& get() {
    static const KernelRegistry registry;
    return registry;
  }
  /// The kernels for one operator, of any version.
  std::span<const KernelEntry* const> find(std::string_view domain, std::string_view op) const {
    const auto key = std::tuple(detail::plain_domain(domain), op);
    const auto less = [](const auto& a, const auto& b) { return a < b; };
    const auto first =
        std::lower_bound(entries_.begin(), entries_.end(), key, [&](const KernelEntry* e, const auto& k) {
          return less(std::tuple(e->spec.domain, e->spec.op_type), k);
        });
    auto last = first;
    while (last != entries_.end() && std::tuple((*last)->spec.domain, (*last)->spec.op_type) == key) ++last;
    return {entries_.data() + (first - entries_.begin()), static_cast<size_t>(last - first)};
  }
  std::span<const KernelEntry* const> all() const { return entries_; }
  /// A message that names two kernels for the same operator, version and priority; empty when there are none.
  const std::string& conflict() const { return conflict_; }

 private:
  KernelRegistry() {
    for (const KernelEntry* e = detail::g_kernels; e != nullptr; e = e->next) entries_.push_back(e);
    std::sort(entries_.begin(), entries_.end(), [](const KernelEntry* a, const KernelEntry* b) {
      return detail::order_of(a->spec) < detail::order_of(b->spec);
    });
    for (size_t i = 1; i < entries_.size(); ++i) {
      const KernelSpec &a = entries_[i - 1]->spec, &b = entries_[i]->spec;
      if (a.domain == b.domain && a.op_type == b.op_type && a.priority == b.priority && a.until >= b.since) {
        conflict_ = cat("two kernels for ", b.op_type, " version ", b.since, " at priority ", b.priority);
      }
    }
  }

  std::vector<const KernelEntry*> entries_;
  std::string conflict_;
};

}  // namespace tenon::ep
#pragma GCC visibility pop

#define TENON_KERNEL_JOIN2_(a, b) a##b
#define TENON_KERNEL_JOIN_(a, b) TENON_KERNEL_JOIN2_(a, b)
#define TENON_KERNEL_AT_(K, n, ...)                                                                    \
  namespace {                                                                                          \
  constinit ::tenon::ep::KernelEntry TENON_KERNEL_JOIN_(tenon_kernel_, n){                             \
      ::tenon::ep::KernelSpec{__VA_ARGS__}, ::tenon::ep::detail::make_ops<K>()};                       \
  [[maybe_unused]] const ::tenon::ep::detail::KernelRegistrar TENON_KERNEL_JOIN_(tenon_registrar_, n){ \
      TENON_KERNEL_JOIN_(tenon_kernel_, n)};                                                           \
  }

/// Registers kernel K: TENON_KERNEL(Relu, .op_type = "Relu", .since = 6, .until = 12). KernelSpec has the fields.
#define TENON_KERNEL(K, ...) TENON_KERNEL_AT_(K, __COUNTER__, __VA_ARGS__)

#endif  // TENON_DETAIL_KERNEL_HPP_
