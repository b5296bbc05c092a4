// From the config to the instances a session asks, in order; and from its placement rules to what is barred.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/partition/partition.h"
#include "host/config/config.h"
#include "host/provider/registry.h"
#include "host/runtime/instance.h"

namespace tenon::runtime {

struct Selection {
  std::vector<std::shared_ptr<Instance>> instances;  // never empty
  /// What one would expect here and is not: builds that were refused, providers and devices that cannot be used.
  std::vector<provider::PassedOver> passed_over;
  /// Entry of select.order (or id, when automatic) for each instance.
  std::vector<std::string> entries;

  /// The instance with which constants are folded: the last that completes; null when none does.
  std::shared_ptr<Instance> completing() const;
  /// Position of the instances that `name` means, as written in placement: "cuda" is all of cuda,
  /// "cuda/gpu:0" is one.
  std::vector<partition::ProviderIndex> find(std::string_view name) const;
};

/// Loads providers, opens devices and creates instances. An entry without a device stands for those of
/// `provider.<id>.devices`, each an instance, or else for the provider's first device. With `fallback =
/// "error"` the first that cannot be had is the error; with "next" it is skipped. An error when nothing is
/// left, with each reason.
Result<Selection> select_instances(const config::Config& config, provider::ProviderRegistry& registry);

/// The placement rules of a config, for one model. Immutable.
class Placement {
 public:
  Placement() = default;
  /// `model`: its file name, without folders.
  Placement(const config::Config& config, const Selection& selection, std::string model);

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

 private:
  struct Rule {
    config::PlacementRule rule;
    std::vector<bool> allowed;  // per instance
  };
  const Rule* rule_for(const ir::Node& node) const;
  Status not_placed(const Rule& rule, const ir::Node& node,
                    const std::vector<partition::Decline>& declines) const;

  std::vector<Rule> rules_;
  std::vector<std::string> names_;  // of instances
  std::string model_;
};

}  // namespace tenon::runtime
