// The providers of a session: which manifests are looked at, which of them the config chooses, and the log of it.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ops/registered.h"
#include "host/config/config.h"
#include "host/provider/registry.h"
#include "host/selection/select.h"

namespace tenon::runtime {

/// Options of a registry of the manifests that `config` and the application (`registered`) make known.
provider::RegistryOptions registry_options(const config::Config& config,
                                           const std::vector<std::string>& registered);
/// The argument of Config::check_providers(). For a pinned provider it holds the options of the build in use.
provider::ProviderRegistry::Known known_providers(const config::Config& config,
                                                  provider::ProviderRegistry& registry);
/// The instances that a config chooses, in order. Logs the choice.
Result<Selection> select_providers(const config::Config& config, const std::vector<std::string>& registered);
/// Adds an instance that runs `operators`, before all others; does nothing when there are none.
Status add_operators(const ops::RegisteredOperators& operators, const config::Config& config,
                     Selection* selection);
/// Loads the providers in `selection->unopened`. Logs those that it passes over.
Status open_rest(const config::Config& config, const std::vector<std::string>& registered,
                 Selection* selection);

}  // namespace tenon::runtime
