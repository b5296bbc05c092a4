#include "host/selection/providers.h"

#include "host/base/log.h"
#include "host/device/host_api.h"
#include "host/device/pins.h"
#include "host/operators/provider.h"

namespace tenon::runtime {
namespace {

/// A warning, unless the provider is documented to be used only when named.
uint32_t level_of(const provider::PassedOver& each) {
  const bool waits = each.code == provider::skip_name(provider::Skip::kEmulated) ||
                     each.code == provider::skip_name(provider::Skip::kByName);
  return waits ? TENON_LOG_INFO : TENON_LOG_WARNING;
}

void log_passed_over(const provider::PassedOver& each) {
  log_line(level_of(each), "PASSED_OVER", each.text());
}

/// Logs the manifests found, which of them are used and why, and what is passed over.
void log_choices(provider::ProviderRegistry& registry, const Result<Selection>& selection) {
  if (!has_log_sink()) return;
  for (const std::string& notice : registry.notices()) log_line(TENON_LOG_WARNING, "SEARCH", notice);
  if (selection.ok()) {
    for (const provider::PassedOver& each : selection->passed_over) log_passed_over(each);
  }
  for (const provider::ProviderInfo& info : registry.list())
    log_line(TENON_LOG_INFO, "PROVIDER", info.explain());
}

}  // namespace

provider::RegistryOptions registry_options(const config::Config& config,
                                           const std::vector<std::string>& registered) {
  provider::RegistryOptions out = provider::RegistryOptions::from_config(config, host_api());
  for (const std::string& path : registered) out.registered.push_back(path);
  return out;
}

provider::ProviderRegistry::Known known_providers(const config::Config& config,
                                                  provider::ProviderRegistry& registry) {
  provider::ProviderRegistry::Known known = registry.known();
  if (config->upgrade != config::UpgradeMode::kPin) return known;
  for (config::KnownProvider& each : known.providers) {
    const auto pinned = Pins::process().find(each.id, config.provider(each.id).version);
    if (pinned != nullptr) each.options = pinned->manifest().options;
  }
  return known;
}

Result<Selection> select_providers(const config::Config& config, const std::vector<std::string>& registered) {
  provider::ProviderRegistry registry(registry_options(config, registered));
  const provider::ProviderRegistry::Known known = known_providers(config, registry);
  RETURN_IF_ERROR(config.check_providers(known.providers));
  Result<Selection> selection = select_instances(config, registry);
  log_choices(registry, selection);
  return selection;
}

Status add_operators(const ops::RegisteredOperators& operators, const config::Config& config,
                     Selection* selection) {
  if (operators.empty()) return ok_status();
  ASSIGN_OR_RETURN(std::shared_ptr<Device> device, Device::open(operators::make_provider(operators), ""));
  InstanceSettings settings;
  settings.deterministic = config->deterministic;
  ASSIGN_OR_RETURN(std::shared_ptr<Instance> instance, Instance::create(std::move(device), {}, settings));
  selection->instances.insert(selection->instances.begin(), std::move(instance));
  selection->entries.insert(selection->entries.begin(), operators::kProviderId);
  return ok_status();
}

Status open_rest(const config::Config& config, const std::vector<std::string>& registered,
                 Selection* selection) {
  provider::ProviderRegistry registry(registry_options(config, registered));
  const size_t known = selection->passed_over.size();
  RETURN_IF_ERROR(open_rest(config, registry, selection));
  for (size_t i = known; i < selection->passed_over.size(); ++i) log_passed_over(selection->passed_over[i]);
  return ok_status();
}

}  // namespace tenon::runtime
