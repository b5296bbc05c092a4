// Bars instances from nodes by the placement rules of a config.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/partition/partition.h"
#include "host/config/config.h"
#include "host/selection/select.h"

namespace tenon::runtime {

/// The placement rules of a config, for one model. Not thread-safe.
class Placement {
 public:
  Placement() = default;
  /// `model`: the model's file name, without folders; empty: unknown, warnings then cover all rules.
  Placement(const config::Config& config, const Selection& selection, std::string model);

  /// To be called after instances were added at the end of the selection.
  void extend(const Selection& selection);
  /// Before the providers are asked: bars an instance from every node whose first matching rule names another
  /// provider. A rule without `required` has no effect when the session does not use its provider.
  void apply(const ir::Graph& graph, partition::Partitioner& partitioner) const;
  /// After all were asked: lets any instance run the open nodes that a rule without `required` kept from it. True when
  /// there are such nodes: then ask all again.
  bool relax(const ir::Graph& graph, partition::Partitioner& partitioner) const;
  /// UNSUPPORTED when a rule with `required` is not met. The error names the node and why the provider declined it.
  Status check(const ir::Graph& graph, const partition::Partition& partition) const;
  /// The same for open nodes before they are expanded. A node that can be expanded passes when its rule also matches the
  /// nodes of the expansion ("NODE/inner"). `can_expand` may be empty.
  Status check_open(const ir::Graph& graph, const partition::Partitioner& partitioner,
                    const std::function<bool(const ir::Node&)>& can_expand) const;

  /// Rules for providers that the session does not use.
  std::vector<std::string> warnings_of_providers() const;
  /// The same, and rules that have decided about no node of any graph so far.
  std::vector<std::string> warnings() const;

 private:
  struct Rule {
    config::PlacementRule rule;
    std::vector<bool> allowed;         // per instance
    std::string passed_over;           // why the session does not use the provider; empty when not known
    mutable bool has_matched = false;  // it was the first rule to match some node

    bool names_anybody() const { return std::find(allowed.begin(), allowed.end(), true) != allowed.end(); }
  };
  std::string nobody(const Rule& rule) const;
  bool speaks_of_this_model(const Rule& rule) const;
  const Rule* rule_for(const ir::Node& node) const;
  Status not_placed(const Rule& rule, const ir::Node& node,
                    const std::vector<partition::Decline>& declines) const;

  std::vector<Rule> rules_;
  std::vector<std::string> names_;  // ids of the instances
  std::string model_;
};

}  // namespace tenon::runtime
