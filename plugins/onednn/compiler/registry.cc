#include <algorithm>
#include <tuple>

#include "compiler/operation.h"

namespace tenon::onednn {

constinit OperatorEntry* detail::g_operators = nullptr;

namespace {

std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

const std::vector<const OperatorEntry*>& sorted() {
  static const std::vector<const OperatorEntry*> entries = [] {
    std::vector<const OperatorEntry*> out;
    for (const OperatorEntry* e = detail::g_operators; e != nullptr; e = e->next) out.push_back(e);
    std::sort(out.begin(), out.end(), [](const OperatorEntry* a, const OperatorEntry* b) {
      return std::tuple(a->spec.domain, a->spec.op_type, a->spec.since) <
             std::tuple(b->spec.domain, b->spec.op_type, b->spec.since);
    });
    return out;
  }();
  return entries;
}

/// The known dims of input `i`; nullopt if its rank is not known.
std::optional<DimsView> known_dims(const NodeView& node, int i) {
  const ep::ValueView value = node.input(i);
  if (!value.present() || value.kind() != TENON_KIND_TENSOR) return std::nullopt;
  if (value.is_constant()) return value.constant().dims();
  return value.has_rank() ? std::optional(value.dims()) : std::nullopt;
}

/// Checks that all inputs of the contract are present and that no shape breaks it.
Support keeps_contract(const ep::Contract& contract, const NodeView& node) {
  const int missing = contract.missing(node.input_count(), [&](int i) { return node.has_input(i); });
  if (missing >= 0)
    return Support::no(TENON_REJECT_OTHER, cat(node.op(), ": input ", missing, " is missing"));
  const std::string refusal = contract.check(node.input_count(), [&](int i) { return known_dims(node, i); });
  return refusal.empty() ? Support::yes() : Support::no(TENON_REJECT_SHAPE, cat(node.op(), ": ", refusal));
}

Support ask(const OperatorEntry& entry, const NodeView& node) {
  try {
    Support out = keeps_contract(contract_of(entry, node), node);
    return out ? entry.supports(node) : out;
  } catch (const ep::Error& e) {  // a malformed attribute is a property of the node
    return Support::no(TENON_REJECT_ATTRIBUTE, cat(node.op(), ": ", e.text));
  }
}

}  // namespace

detail::OperatorRegistrar::OperatorRegistrar(OperatorEntry& entry) {
  entry.next = g_operators;
  g_operators = &entry;
}

const OperatorEntry* find_operator(const NodeView& node, Support* out_refusal) {
  const auto key = std::tuple(plain_domain(node.domain()), node.op());
  bool known = false;
  for (const OperatorEntry* entry : sorted()) {
    if (std::tuple(entry->spec.domain, entry->spec.op_type) != key) continue;
    known = true;
    if (node.since_version() < entry->spec.since || node.since_version() > entry->spec.until) continue;
    *out_refusal = ask(*entry, node);
    return *out_refusal ? entry : nullptr;
  }
  const std::string domain = std::get<0>(key).empty() ? "" : cat(node.domain(), ".");
  *out_refusal = Support::no(
      TENON_REJECT_OPERATOR,
      known ? cat("operator ", domain, node.op(), " version ", node.since_version(), " is not implemented")
            : cat("operator ", domain, node.op(), " is not implemented"));
  return nullptr;
}

ep::Contract contract_of(const OperatorEntry& entry, const NodeView& node) {
  return ep::Contract(entry.spec.contract,
                      [&](std::string_view name, int64_t otherwise) { return node.attr_i(name, otherwise); });
}

size_t axis_of(int64_t axis, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  require(axis >= -n && axis < n, TENON_INVALID_ARGUMENT, "axis ", axis, " is not within [", -n, ", ", n - 1,
          "]");
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

std::vector<const OperatorEntry*> all_operators() { return sorted(); }

}  // namespace tenon::onednn
