#include "compiler/operation.h"

namespace tenon::onednn {
namespace {

/// The known dims of input `i`; nullopt if its rank is not known. The data of constants is not asked for: the host may have to
/// copy it.
std::optional<DimsView> known_dims(const NodeView& node, int i) {
  const ep::ValueView value = node.input(i);
  if (!value.present() || value.kind() != TENON_KIND_TENSOR) return std::nullopt;
  return value.has_rank() ? std::optional(value.dims()) : std::nullopt;
}

/// Checks that all inputs of the contract are present and that no shape breaks it.
Support keeps_contract(const ep::Contract& contract, const NodeView& node) {
  if (Support out = ep::has_inputs(contract, node); !out) return out;
  const std::string refusal = contract.check(node.input_count(), [&](int i) { return known_dims(node, i); });
  return refusal.empty() ? Support::yes() : Support::no(TENON_REJECT_SHAPE, cat(node.op(), ": ", refusal));
}

Support judge(const OperatorEntry& entry, const NodeView& node) {
  Support out = keeps_contract(ep::contract_of(entry, node), node);
  return out ? entry.supports(node) : out;
}

}  // namespace

const OperatorEntry* find_operator(const NodeView& node, Support* out_refusal) {
  return ep::choose_entry<OperatorEntry>(node, out_refusal, judge);
}

size_t axis_of(int64_t axis, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  require(axis >= -n && axis < n, TENON_INVALID_ARGUMENT, "axis ", axis, " is not within [", -n, ", ", n - 1,
          "]");
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

}  // namespace tenon::onednn
