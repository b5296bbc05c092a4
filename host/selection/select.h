// From the config to the instances that a session asks, in order.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/partition/partition.h"
#include "host/config/config.h"
#include "host/device/instance.h"
#include "host/provider/registry.h"

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

}  // namespace tenon::runtime
