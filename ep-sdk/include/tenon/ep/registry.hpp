// The operators that a library implements: one list for each type of entry, filled before main by registrars.
//
// An entry has a member `spec`, with `domain`, `op_type`, `since`, `until` and perhaps `priority`, and a member
// `Entry* next`.
#ifndef TENON_EP_REGISTRY_HPP_
#define TENON_EP_REGISTRY_HPP_

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tenon/ep/contract.hpp"
#include "tenon/ep/graph.hpp"
#include "tenon/ep/support.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {
namespace detail {

/// ONNX's own domain has two names, "" and "ai.onnx". Both become "".
inline std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

template <class Spec>
constexpr int priority_of(const Spec& spec) {
  if constexpr (requires { spec.priority; }) {
    return spec.priority;
  } else {
    return 0;
  }
}

}  // namespace detail

/// All entries of this library, sorted by (domain, operator, descending priority, version).
template <class Entry>
class Registry {
 public:
  /// Adds an entry that lives as long as the library. For static objects only.
  struct Registrar {
    explicit Registrar(Entry& entry) {
      entry.next = first;
      first = &entry;
    }
  };
  static inline constinit Entry* first = nullptr;

  static const Registry& get() {
    static const Registry registry;
    return registry;
  }
  /// The entries for one operator, of any version.
  std::span<const Entry* const> find(std::string_view domain, std::string_view op) const {
    const auto key = std::tuple(detail::plain_domain(domain), op);
    const auto begin = std::lower_bound(entries_.begin(), entries_.end(), key, before);
    auto end = begin;
    while (end != entries_.end() && key_of(**end) == key) ++end;
    return {entries_.data() + (begin - entries_.begin()), static_cast<size_t>(end - begin)};
  }
  std::span<const Entry* const> all() const { return entries_; }
  /// A message that names two entries for the same operator, version and priority; empty when there are none.
  const std::string& conflict() const { return conflict_; }

 private:
  static auto key_of(const Entry& e) { return std::tuple(e.spec.domain, e.spec.op_type); }
  static auto order_of(const Entry& e) {
    return std::tuple(e.spec.domain, e.spec.op_type, -detail::priority_of(e.spec), e.spec.since);
  }
  static bool before(const Entry* e, const std::tuple<std::string_view, std::string_view>& key) {
    return key_of(*e) < key;
  }

  Registry() {
    for (const Entry* e = first; e != nullptr; e = e->next) entries_.push_back(e);
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry* a, const Entry* b) { return order_of(*a) < order_of(*b); });
    for (size_t i = 1; i < entries_.size(); ++i) {
      const Entry &a = *entries_[i - 1], &b = *entries_[i];
      const int priority = detail::priority_of(b.spec);
      if (key_of(a) == key_of(b) && detail::priority_of(a.spec) == priority && a.spec.until >= b.spec.since) {
        conflict_ =
            cat("two kernels for ", b.spec.op_type, " version ", b.spec.since, " at priority ", priority);
      }
    }
  }

  std::vector<const Entry*> entries_;
  std::string conflict_;
};

namespace detail {

/// Why no entry is for the node's operator or version. `entries` are those of its operator.
template <class Entry>
Support unknown_operator(const NodeView& node, std::span<const Entry* const> entries) {
  const std::string domain = node.domain().empty() ? "" : cat(node.domain(), ".");
  if (entries.empty())
    return Support::no(TENON_REJECT_OPERATOR, cat("operator ", domain, node.op(), " is not implemented"));
  std::string versions;
  for (const Entry* e : entries) {
    const bool open = e->spec.until == std::numeric_limits<int>::max();
    versions += (versions.empty() ? "" : ", ") +
                cat(e->spec.since, open ? std::string(" and later") : cat(" to ", e->spec.until));
  }
  return Support::no(TENON_REJECT_OPERATOR,
                     cat("operator ", domain, node.op(), " version ", node.since_version(),
                         " is not implemented, only ", versions));
}

}  // namespace detail

/// The entry's contract for this node.
template <class Entry>
Contract contract_of(const Entry& entry, const NodeView& node) {
  return Contract(entry.spec.contract,
                  [&](std::string_view name, int64_t otherwise) { return node.attr_i(name, otherwise); });
}

/// Rejects a node that lacks an input of the contract.
inline Support has_inputs(const Contract& contract, const NodeView& node) {
  const int missing = contract.missing(node.input_count(), [&](int i) { return node.has_input(i); });
  return missing < 0 ? Support::yes()
                     : Support::no(TENON_REJECT_OTHER, cat(node.op(), ": input ", missing, " is missing"));
}

/// The first entry for the node's operator and version that `judge(entry, node)` finds to support it. Otherwise NULL,
/// and in `out_refusal` what `judge` said of the first one. An Error of `judge` is a rejection, because a malformed
/// attribute is a property of the node; the lack of memory is not, so it is thrown on.
template <class Entry, class Judge>
const Entry* choose_entry(const NodeView& node, Support* out_refusal, Judge&& judge) {
  const auto entries = Registry<Entry>::get().find(node.domain(), node.op());
  bool asked = false;
  for (const Entry* entry : entries) {
    if (node.since_version() < entry->spec.since || node.since_version() > entry->spec.until) continue;
    Support support = Support::yes();
    try {
      support = judge(*entry, node);
    } catch (const Error& e) {
      if (e.code == TENON_RESOURCE_EXHAUSTED) throw;
      support = Support::no(TENON_REJECT_ATTRIBUTE, cat(node.op(), ": ", e.text));
    }
    if (support) return entry;
    if (!asked) *out_refusal = std::move(support);
    asked = true;
  }
  if (!asked) *out_refusal = detail::unknown_operator<Entry>(node, entries);
  return nullptr;
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_REGISTRY_HPP_
