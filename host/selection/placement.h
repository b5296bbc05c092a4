// The placement rules of a config: which instances are barred from which nodes.
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

/// The placement rules of a config, for one model. Used by one thread at a time.
class Placement {
 public:
  Placement() = default;
  /// `model`: its file name, without folders; empty: any.
  Placement(const config::Config& config, const Selection& selection, std::string model);

  /// Instances were added at the end.
  void extend(const Selection& selection);
  /// Before anybody is asked: bars every instance from a node whose first matching rule names others. A rule
  /// without `required` whose provider this session does not use has no effect.
  void apply(const ir::Graph& graph, partition::Partitioner& partitioner) const;
  /// After all were asked: nodes that are still open under a rule without `required` may go to anybody. True
  /// when there are such nodes: then ask all again.
  bool relax(const ir::Graph& graph, partition::Partitioner& partitioner) const;
  /// UNSUPPORTED when a rule with `required` was not followed, naming the node and why its provider declined.
  Status check(const ir::Graph& graph, const partition::Partition& partition) const;
  /// The same for nodes that nobody took, before they are expanded: what a node expands to may go anywhere,
  /// unless its rule speaks of names that begin with the node's own. `can_expand` may be empty.
  Status check_open(const ir::Graph& graph, const partition::Partitioner& partitioner,
                    const std::function<bool(const ir::Node&)>& can_expand) const;

  /// Rules for providers that the session does not use.
  std::vector<std::string> warnings_of_providers() const;
  /// These, and rules that have matched no node of all graphs so far.
  std::vector<std::string> warnings() const;

 private:
  struct Rule {
    config::PlacementRule rule;
    std::vector<bool> allowed;         // per instance
    std::string passed_over;           // why the session does not use the provider, where it was asked for
    mutable bool has_matched = false;  // a node, before all other rules

    bool names_anybody() const { return std::find(allowed.begin(), allowed.end(), true) != allowed.end(); }
  };
  std::string nobody(const Rule& rule) const;
  bool speaks_of_this_model(const Rule& rule) const;
  const Rule* rule_for(const ir::Node& node) const;
  Status not_placed(const Rule& rule, const ir::Node& node,
                    const std::vector<partition::Decline>& declines) const;

  std::vector<Rule> rules_;
  std::vector<std::string> names_;  // of instances
  std::string model_;
};

}  // namespace tenon::runtime
