// From the config to the instances a session asks, in order; and from its placement rules to what is barred.
#pragma once

#include <algorithm>
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
  /// Providers of the automatic order that come after one which completes a model. Their checks were passed; they are
  /// loaded when a node is left that nobody before them runs: see open_rest().
  std::vector<std::string> unopened;

  /// The instance with which constants are folded: the last that completes; null when none does.
  std::shared_ptr<Instance> completing() const;
  /// Position of the instances that `name` means, as written in placement: "cuda" is all of cuda,
  /// "cuda/gpu:0" is one.
  std::vector<partition::ProviderIndex> find(std::string_view name) const;
};

/// Loads providers, opens devices and creates instances. An entry without a device stands for those of
/// `provider.<id>.devices`, each an instance, or else for the provider's first device. With `fallback =
/// "error"` the first that cannot be had is the error, as is a wrong setting of a provider that "auto" found;
/// with "next" it is skipped. An error when nothing is left, with each reason.
Result<Selection> select_instances(const config::Config& config, provider::ProviderRegistry& registry);

/// Adds instances of those that are unopened; one that cannot be had goes to `passed_over`. An error only where
/// select_instances() has one: a wrong setting of a provider.
Status open_rest(const config::Config& config, provider::ProviderRegistry& registry, Selection* selection);

/// An entry of select.order (or an id, when automatic) that cannot be had.
struct Failure {
  std::string entry;
  Status reason;
};
/// The same as a trial: all that it would fail with goes to `failures`. What it gives may be empty.
Selection try_instances(const config::Config& config, provider::ProviderRegistry& registry,
                        std::vector<Failure>* failures);

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
