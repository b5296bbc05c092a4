// The element-wise operators of tenon/ep/device/elementwise.hpp, each by itself. A provider registers them all:
//   const ops::ElementwiseKernels<Elements> kElementwise;
//
// What the backend B must have beside that of Chain (tenon/ep/device/chain.hpp):
//   static constexpr TypeList<...> B::kRealTypes                     types of floating point with which it computes
//   static Support B::computes(const NodeView&, uint32_t dtype)      whether the device computes with a type of those or with an
//                                                                    integer
#ifndef TENON_EP_DEVICE_OPS_ELEMENTWISE_HPP_
#define TENON_EP_DEVICE_OPS_ELEMENTWISE_HPP_

#include <utility>

#include "tenon/ep/device/chain.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

/// Whether an operator for `types` takes the type. `real`: the types of floating point.
template <class... Real>
bool takes(ElementTypes types, TypeList<Real...> real, uint32_t dtype) {
  switch (types) {
    case ElementTypes::kReal:
      return real.contains(dtype);
    case ElementTypes::kNumber:
      return (real + kIntTypes).contains(dtype);
    case ElementTypes::kSigned:
      return (real + kSignedIntTypes).contains(dtype);
    case ElementTypes::kInteger:
      return kIntTypes.contains(dtype);
    case ElementTypes::kUnsigned:
      return kUnsignedIntTypes.contains(dtype);
    case ElementTypes::kBool:
      return kBoolType.contains(dtype);
    case ElementTypes::kComparable:
      return (real + kIntTypes + kBoolType).contains(dtype);
  }
  return false;
}

/// `kIndex`: of the operator in kElementwiseOperators.
template <class B, size_t kIndex>
class Elementwise {
 public:
  static constexpr const ElementwiseOperator& kOperator = kElementwiseOperators[kIndex];

  static Support supports(const NodeView& n) {
    const int first = kOperator.first_is_bool ? 1 : 0;
    Check check(n);
    check.needs_input(0).that(n.input_count() <= B::kRules.operands, TENON_REJECT_OTHER, "more than ",
                              B::kRules.operands, " inputs are not supported");
    const uint32_t dtype = n.input(first).dtype();
    for (int i = first; i < n.input_count(); ++i) {
      if (!n.has_input(i)) continue;
      const uint32_t type = n.input(i).dtype();
      if (i == 1 && kOperator.any_second) {
        check_second(check, n, dtype, type);
        continue;
      }
      check.that(takes(kOperator.types, B::kRealTypes, type), TENON_REJECT_TYPE, "input ", i, " ('",
                 n.input(i).name(), "') has element type ", dtype_name(type), ", which is not supported");
      check.that(type == dtype, TENON_REJECT_TYPE, "inputs of different types are not supported");
    }
    return check.ok() ? B::computes(n, dtype) : Support(check);
  }
  explicit Elementwise(const NodeView& n) {
    ChainPlan plan(B::kRules);
    require(plan.append(n), TENON_INTERNAL, "an element-wise node does not fit into one launch");
    std::vector<int> inputs;
    for (const ValueView& operand : plan.operands()) inputs.push_back(position(n, operand));
    chain_ = Chain<B>(n, std::move(plan), std::move(inputs));
  }
  typename Chain<B>::Walk prepare(PrepareContext& p) const { return chain_.prepare(p); }
  void record(typename B::Recorder& ctx, const typename Chain<B>::Walk& walk) const {
    chain_.record(ctx, walk);
  }

 private:
  /// A launch that computes in one type only converts the exponent to that of the base.
  static void check_second(Check& check, const NodeView& n, uint32_t dtype, uint32_t type) {
    if (B::kRules.mixes_types) {
      check.that(takes(kOperator.types, B::kRealTypes, type), TENON_REJECT_TYPE, "input 1 ('",
                 n.input(1).name(), "') has element type ", dtype_name(type), ", which is not supported");
      return;
    }
    const bool is_real = B::kRealTypes.contains(dtype);
    check.that(is_real || !B::kRealTypes.contains(type), TENON_REJECT_TYPE,
               "an integer base with a real exponent is not supported");
    check.that(is_real || type == dtype, TENON_REJECT_TYPE, "integers of different types are not supported");
    check.that(type != TENON_UINT64, TENON_REJECT_TYPE, "an exponent of uint64 is not supported");
  }
  static int position(const NodeView& n, const ValueView& value) {
    int i = 0;
    while (n.input(i).index() != value.index()) ++i;
    return i;
  }

  Chain<B> chain_;
};

/// Registers a kernel for each operator of the table. For one static object of a library.
template <class B>
class ElementwiseKernels {
 public:
  ElementwiseKernels() {
    for (KernelEntry& entry : entries_) const KernelRegistry::Registrar registrar(entry);
  }

 private:
  template <size_t... kIndex>
  static constexpr auto entries_of(std::index_sequence<kIndex...>) {
    return std::array<KernelEntry, sizeof...(kIndex)>{
        entry_of<kIndex>()...,
    };
  }
  template <size_t kIndex>
  static constexpr KernelEntry entry_of() {
    constexpr const ElementwiseOperator& kOperator = kElementwiseOperators[kIndex];
    return {{.op_type = kOperator.name, .since = kOperator.since, .contract = kOperator.contract},
            ep::detail::make_ops<Elementwise<B, kIndex>>()};
  }

  static inline constinit std::array<KernelEntry, kElementwiseOperators.size()> entries_ =
      entries_of(std::make_index_sequence<kElementwiseOperators.size()>());
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_ELEMENTWISE_HPP_
