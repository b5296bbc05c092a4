// Selects the instances that a session asks, in order, as the config says.
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
  std::vector<std::shared_ptr<Instance>> instances;  // not empty, except after try_instances()
  /// Builds that were refused, and providers and devices that cannot be used, each with the reason.
  std::vector<provider::PassedOver> passed_over;
  /// Per instance: its entry of select.order, or the provider's id when the order is "auto".
  std::vector<std::string> entries;
  /// Providers of the automatic order that come after one that completes models. They passed their checks, but are
  /// loaded only when no provider before them runs some node: see open_rest().
  std::vector<std::string> unopened;

  /// The last instance that completes models; it folds constants. Null when there is none.
  std::shared_ptr<Instance> completing() const;
  /// Positions of the instances that `name` means in a placement rule: "cuda" means all of cuda, "cuda/gpu:0" one.
  std::vector<partition::ProviderIndex> find(std::string_view name) const;
};

/// Loads providers, opens devices and creates instances. An entry without a device gives one instance for each device
/// of `provider.<id>.devices`, else one for the provider's first device. With select.fallback = "error" the first entry
/// that cannot be used is the error, and so is a wrong setting of a provider that "auto" found. With "next" the entry
/// is skipped. An error, with all reasons, when no instance is left.
Result<Selection> select_instances(const config::Config& config, provider::ProviderRegistry& registry);

/// Adds instances of the unopened providers. One that cannot be used goes to `passed_over`. Fails only where
/// select_instances() would fail.
Status open_rest(const config::Config& config, provider::ProviderRegistry& registry, Selection* selection);

/// An entry of select.order (or a provider's id, when the order is "auto") that cannot be used.
struct Failure {
  std::string entry;
  Status reason;
};
/// Like select_instances(), but appends all errors to `failures`. The selection may be empty.
Selection try_instances(const config::Config& config, provider::ProviderRegistry& registry,
                        std::vector<Failure>* failures);

}  // namespace tenon::runtime
