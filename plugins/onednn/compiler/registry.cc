#include <algorithm>
#include <tuple>

#include "compiler/operation.h"

namespace tenon::onednn {
namespace {

constinit OperatorEntry* g_operators = nullptr;

std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

const std::vector<const OperatorEntry*>& sorted() {
  static const std::vector<const OperatorEntry*> entries = [] {
    std::vector<const OperatorEntry*> out;
    for (const OperatorEntry* e = g_operators; e != nullptr; e = e->next) out.push_back(e);
    std::sort(out.begin(), out.end(), [](const OperatorEntry* a, const OperatorEntry* b) {
      return std::tuple(a->spec.domain, a->spec.op_type, a->spec.since) <
             std::tuple(b->spec.domain, b->spec.op_type, b->spec.since);
    });
    return out;
  }();
  return entries;
}

Support ask(const OperatorEntry& entry, const NodeView& node) {
  try {
    return entry.supports(node);
  } catch (const ep::Error& e) {  // a broken attribute is a property of the node
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

std::vector<const OperatorEntry*> all_operators() { return sorted(); }

}  // namespace tenon::onednn
