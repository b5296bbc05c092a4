// Assigns nodes to providers: asks them in the order of preference until every node has one.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/partition/partition.h"
#include "host/compile/build.h"
#include "host/compile/expand.h"
#include "host/compile/times_keys.h"
#include "host/compile/type_caster.h"
#include "host/device/capability.h"

namespace tenon::runtime {

/// A claim that was accepted but could not be compiled.
struct CompileFailure {
  partition::ProviderIndex provider;
  std::vector<ir::NodeId> nodes;
  std::string text;
};

class Assigner {
 public:
  /// All arguments are borrowed. `graph` is changed when nodes are expanded or cast.
  Assigner(const BuildInputs& build, ir::Graph* graph, bool is_body);

  /// UNSUPPORTED when a node is left. The error names the node and each provider's reason.
  Result<partition::Partition> run();
  /// Later calls of run() do not give these nodes to the provider.
  void bar(CompileFailure failure) { failures_.push_back(std::move(failure)); }

 private:
  class Variants;

  /// For a graph like that of `other`. `first`, if any, is asked before the others, and for all that it can run.
  Assigner(const Assigner& other, ir::Graph* graph, std::optional<partition::ProviderIndex> first);
  Result<partition::Partition> run_in_order();
  /// Asks all providers. True when the graph or the providers changed, so that all must be asked again.
  Result<bool> ask_all(partition::Partitioner* partitioner);
  Result<bool> ask_in_order(partition::Partitioner* partitioner);
  /// `weighed`: the provider claims also what it does not find worth it.
  Status ask(partition::ProviderIndex provider, bool weighed, partition::Partitioner* partitioner) const;
  Result<Offer> ask_about(const ir::Graph& graph, partition::ProviderIndex provider, bool weighed,
                          const std::function<bool(ir::NodeId)>& is_taken) const;
  /// Puts raised nodes that the provider declines back where it would run all nodes that they stand for, so that a
  /// provider without the operator runs what it ran before. True when the graph changed.
  Result<bool> put_back(partition::ProviderIndex provider, const partition::Partitioner& partitioner);
  /// Bars a provider that failed to answer from all open nodes, where `select.fallback` allows it.
  Status unusable(partition::ProviderIndex provider, Status failure,
                  partition::Partitioner* partitioner) const;
  bool is_foreign(const ir::Node& node) const;
  Status with_passed_over(Status nobody) const;
  Status check_declined(partition::ProviderIndex provider, const partition::Partitioner& partitioner) const;
  /// A partitioner that has the bars of failures and of placement rules.
  partition::Partitioner barred() const;
  /// select.partition: the way that was measured to be the fastest, seems the cheapest, or is to be measured. Nothing when the order
  /// decides.
  Result<std::optional<partition::Partition>> by_cost();
  /// What `provider` would run if it were the only one.
  Result<std::vector<partition::Claim>> claims_alone(partition::ProviderIndex provider) const;
  /// The partition in which the providers take the nodes that `wanted` gives them, and others those that they then decline.
  Result<std::optional<partition::Partition>> divide(std::span<const ir::NodeId> order,
                                                     const Assignment& wanted) const;
  Result<partition::Partition> finish(const partition::Partitioner& partitioner) const;

  const BuildInputs& build_;
  ir::Graph* graph_;
  bool is_body_;
  Expander expander_;
  TypeCaster caster_;
  const std::optional<partition::ProviderIndex> first_;  // is asked before the others
  std::string name_of_graph_;                            // as it was before it was divided; empty before that
  std::vector<CompileFailure> failures_;
  std::set<std::pair<partition::ProviderIndex, ir::NodeId>> put_back_tried_;
};

}  // namespace tenon::runtime
