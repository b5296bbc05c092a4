// The providers of a session: who is looked at, who of them the config chooses, and what is said of it.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/config/config.h"
#include "host/provider/registry.h"
#include "host/selection/select.h"

namespace tenon::runtime {

/// The manifests that a config and the application make known.
provider::RegistryOptions registry_options(const config::Config& config,
                                           const std::vector<std::string>& registered);
/// What config.check_providers needs; of a provider that is pinned, what the build that runs says.
provider::ProviderRegistry::Known known_providers(const config::Config& config,
                                                  provider::ProviderRegistry& registry);
/// The providers that a config chooses, in order.
Result<Selection> select_providers(const config::Config& config, const std::vector<std::string>& registered);
/// Loads those that the selection has unopened. What it passes over is logged.
Status open_rest(const config::Config& config, const std::vector<std::string>& registered,
                 Selection* selection);

}  // namespace tenon::runtime
