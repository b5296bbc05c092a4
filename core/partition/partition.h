// Partition: decides which provider runs which node, and records why.
//
// The host asks each provider in order of preference and passes the answers in as data; this library never calls a
// provider. Every claim is checked by rule (numbers as in ep-sdk/RULES.md) and accepted or refused as a whole,
// never trimmed. The result gives for every node its provider and the reasons of the providers before it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace tenon::partition {

/// Index of a provider instance in the session's order of preference.
using ProviderIndex = uint32_t;
inline constexpr ProviderIndex kNoProvider = TENON_NO_INDEX;

struct ValueTraits {
  ir::ValueId value;
  bool shape_input = false;  // read by Prepare: host memory, its value belongs to the signature
  std::optional<uint32_t> domain;
};

/// Estimates of the provider, which the choice by cost takes where nothing was measured; 0 where unknown.
struct Cost {
  double flops = 0, bytes = 0, launch_ns = 0, time_ns = 0;
};

struct Claim {
  std::vector<ir::NodeId> nodes;
  bool static_shapes = false;
  bool emulated = false;
  std::vector<ValueTraits> traits;
  uint32_t input_domain = TENON_DOMAIN_HOST, output_domain = TENON_DOMAIN_HOST;
  uint64_t tag = 0;
  Cost cost;

  uint32_t domain_of(ir::ValueId value, bool is_output) const;
  bool is_shape_input(ir::ValueId value) const;
};

enum class RejectCode : uint32_t {
  kOther = TENON_REJECT_OTHER,
  kOperator = TENON_REJECT_OPERATOR,
  kType = TENON_REJECT_TYPE,
  kAttribute = TENON_REJECT_ATTRIBUTE,
  kShape = TENON_REJECT_SHAPE,
  kCost = TENON_REJECT_COST,
  kInline = TENON_REJECT_INLINE,
  kPlacement = 100,      // a rule of the config excludes the provider
  kClaimRefused = 101,   // the provider's claim broke a numbered rule
  kCompileFailed = 102,  // accepted, but its compilation failed
  kUnusable = 103,       // the provider did not answer
  kDivided = 104,        // the choice by cost gives the node to another provider
};
/// "operator", "type", ... as printed by explain.
std::string_view reject_code_name(RejectCode code);

struct Rejection {
  ir::NodeId node;
  RejectCode code;
  std::string text;
};

/// One accepted claim, or one control-flow node (provider == kNoProvider), which the executor runs.
struct Part {
  ProviderIndex provider = kNoProvider;
  Claim claim;
  std::vector<ir::ValueId> inputs;   // run-time inputs without constants, in order of first use
  std::vector<ir::ValueId> outputs;  // used outside of the part, or outputs of the graph
};

struct Decline {
  ProviderIndex provider;
  RejectCode code;
  std::string text;
};

struct Decision {
  ProviderIndex provider = kNoProvider;
  bool control_flow = false;
  std::vector<Decline> declines;  // of the providers asked before, in order
};

/// A way to divide the graph that was weighed, in picoseconds for one Run.
struct Candidate {
  std::string name;         // "order", "onednn/cpu:0 first", "cheapest"
  int64_t estimate_ps = 0;  // 0: not estimated, because a measured one was taken
  int64_t measured_ps = 0;  // 0: not measured on this machine
  bool chosen = false;
};

struct Partition {
  std::vector<Candidate> candidates;  // empty when the order of preference decided
  std::vector<Part> parts;            // topological order
  std::vector<Decision> decisions;    // indexed by NodeId; default for ids without node
};

/// Collects answers for one graph, which must not change in the meantime. Not thread-safe.
class Partitioner {
 public:
  /// `is_control_flow`: nodes that the executor runs. Providers may not claim them.
  Partitioner(const ir::Graph& graph, const std::function<bool(const ir::Node&)>& is_control_flow);

  /// Bars `provider` from a node (placement rules, a failed compilation), before it is asked.
  void bar(ProviderIndex provider, ir::NodeId node, RejectCode code, std::string text);
  /// Undoes bar() for this reason and removes the decline. False when there was none.
  bool unbar(ProviderIndex provider, ir::NodeId node, RejectCode code);
  /// Whether `provider` must see the node as taken: claimed, barred for it, or control flow.
  bool taken(ProviderIndex provider, ir::NodeId node) const;
  /// The same as if the provider had claimed nothing so far.
  bool taken_by_others(ProviderIndex provider, ir::NodeId node) const;

  /// Takes the complete answer of one provider. A claim is refused when it is empty, names an unknown node,
  /// overlaps, holds a taken node, is not convex, or closes a cycle with accepted claims. Its nodes are then
  /// declined with the number of the rule. Of overlapping claims the first wins. Rejections of taken nodes are
  /// ignored. Takes O(nodes + edges) for all claims together unless one is not convex or closes a cycle.
  Status offer(ProviderIndex provider, std::vector<Claim> claims, std::vector<Rejection> rejections);

  /// Nodes that no provider has yet.
  std::vector<ir::NodeId> open_nodes() const;
  /// The claims of `provider` that were accepted so far.
  std::vector<Claim> accepted_of(ProviderIndex provider) const;
  /// The declines of `node` so far.
  const std::vector<Decline>& declines(ir::NodeId node) const;

  /// UNSUPPORTED when a node has no provider; the message names the node, its operator and each provider's reason,
  /// with `provider_name`.
  Result<Partition> finish(const std::function<std::string(ProviderIndex)>& provider_name) const;

 private:
  struct Accepted {
    ProviderIndex provider;  // kNoProvider: released
    Claim claim;             // nodes in topological order
  };
  class Groups;

  void decline(ir::NodeId node, ProviderIndex provider, RejectCode code, std::string text);
  void refuse(ProviderIndex provider, const Claim& claim, const std::string& text);
  std::string broken_rule(ProviderIndex provider, const Claim& claim) const;
  uint32_t accept(ProviderIndex provider, Claim claim);
  void release(uint32_t group);
  void settle(const std::vector<uint32_t>& offered);
  Part make_part(ProviderIndex provider, Claim claim) const;
  Status nobody_runs(ir::NodeId node, const std::function<std::string(ProviderIndex)>& provider_name) const;

  const ir::Graph& graph_;
  std::vector<ir::NodeId> order_;   // topological; by id when the graph has a cycle
  std::vector<uint32_t> position_;  // per node, in order_
  std::vector<bool> control_flow_;  // per node
  std::vector<uint32_t> owner_;     // per node: index into accepted_, ir::kNone when open
  std::vector<Accepted> accepted_;
  std::vector<std::vector<Decline>> declines_;      // per node
  std::vector<std::vector<ProviderIndex>> barred_;  // per node
};

}  // namespace tenon::partition
