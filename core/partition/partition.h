// Partition: which provider runs which node, and why.
//
// Providers answer as data: the host asks each in the order of preference and hands the answers in here; this
// folder never calls one. Every claim is checked by rule (numbers as in ep-sdk/RULES.md) and is accepted or
// refused as a whole, never trimmed. The result names for every node who got it and why each earlier provider
// did not.
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

/// Estimates of the provider, for people to read; 0 where it does not know.
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
  kPlacement = 100,      // a rule of the config bars the provider
  kClaimRefused = 101,   // the provider's claim broke a numbered rule
  kCompileFailed = 102,  // accepted, then its compile failed
  kUnusable = 103,       // the provider did not answer
};
/// "operator", "type", ... as printed by explain.
std::string_view reject_code_name(RejectCode code);

struct Rejection {
  ir::NodeId node;
  RejectCode code;
  std::string text;
};

/// One accepted claim, or one control-flow node (provider == kNoProvider, run by the executor).
struct Part {
  ProviderIndex provider = kNoProvider;
  Claim claim;
  std::vector<ir::ValueId> inputs;   // run-time inputs, in order of first use; constants left out
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

struct Partition {
  std::vector<Part> parts;          // topological order
  std::vector<Decision> decisions;  // indexed by NodeId; holes are default
};

/// Collects answers for one graph, which must not change meanwhile. Not thread-safe.
class Partitioner {
 public:
  /// `is_control_flow`: nodes that the executor runs; nobody may claim them.
  Partitioner(const ir::Graph& graph, std::function<bool(const ir::Node&)> is_control_flow);

  /// Before asking `provider`: bars it from a node (placement rules, a failed compile).
  void bar(ProviderIndex provider, ir::NodeId node, RejectCode code, std::string text);
  /// Takes back what bar() did for this reason; the decline is forgotten too. False when there was nothing.
  bool unbar(ProviderIndex provider, ir::NodeId node, RejectCode code);
  /// A node that `provider` must see as taken: given away, barred for it, or control flow.
  bool taken(ProviderIndex provider, ir::NodeId node) const;

  /// Takes one provider's whole answer. A claim that is empty, names an unknown node, overlaps, holds a taken
  /// node, is not convex, or closes a cycle with accepted claims is refused: its nodes are declined with the
  /// rule's number. Of claims that overlap the first stands. Rejections of taken nodes are ignored. Takes
  /// O(nodes + edges) for all claims together when none of them is refused for its form.
  Status offer(ProviderIndex provider, std::vector<Claim> claims, std::vector<Rejection> rejections);

  /// Nodes that nobody has yet.
  std::vector<ir::NodeId> open_nodes() const;
  /// Why `node` was declined so far.
  const std::vector<Decline>& declines(ir::NodeId node) const;

  /// Fails with UNSUPPORTED when a node is left, naming the node, its operator and each provider's reason.
  /// `provider_name`: for the message.
  Result<Partition> finish(const std::function<std::string(ProviderIndex)>& provider_name) const;

 private:
  struct Accepted {
    ProviderIndex provider;  // kNoProvider: taken back
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
