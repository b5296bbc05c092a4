// Assigns nodes to providers: asks them in the order of preference until every node has one.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/partition/partition.h"
#include "host/compile/build.h"
#include "host/compile/expand.h"
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
  /// Asks all providers. True when the graph or the providers changed, so that all must be asked again.
  Result<bool> ask_all(partition::Partitioner* partitioner);
  Result<bool> ask_in_order(partition::Partitioner* partitioner);
  Status ask(partition::ProviderIndex provider, partition::Partitioner* partitioner);
  Result<Offer> ask_about(const ir::Graph& graph, partition::ProviderIndex provider,
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

  const BuildInputs& build_;
  ir::Graph* graph_;
  bool is_body_;
  Expander expander_;
  TypeCaster caster_;
  std::vector<CompileFailure> failures_;
  std::set<std::pair<partition::ProviderIndex, ir::NodeId>> put_back_tried_;
};

}  // namespace tenon::runtime
