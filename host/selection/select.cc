#include "host/selection/select.h"

#include <algorithm>
#include <utility>

#include "host/config/options.h"
#include "host/device/pins.h"
#include "host/provider/refusal.h"
#include "host/services/cores.h"

namespace tenon::runtime {
namespace {

using provider::DeviceInfo;
using provider::LoadedProvider;

/// The error for Skip::kEmulated.
Status only_emulated(const std::string& id) {
  return not_found("provider '", id,
                   "' has only software-emulated devices; name it in select.order to use them")
      .with_refusal(provider::skip_name(provider::Skip::kEmulated));
}

bool answers_to(const DeviceInfo& device, std::string_view selector) {
  return selector == device.selector() || selector == device.stable_id ||
         (device.ordinal == 0 && selector == provider::device_kind_name(device.kind));
}

std::string listed(const std::vector<DeviceInfo>& devices) {
  std::string out;
  for (const DeviceInfo& device : devices)
    out += str_cat(out.empty() ? "" : ", ", device.selector(), " (", device.name, ")");
  return out.empty() ? "none" : out;
}

/// The devices of a provider that the config allows.
class DeviceChoice {
 public:
  DeviceChoice(const config::Config& config, const provider::Manifest& manifest,
               std::vector<DeviceInfo> devices)
      : key_(str_cat("provider.", manifest.id, ".devices")),
        given_(config.find(key_)),
        label_(str_cat(manifest.id, " ", manifest.version.to_string())),
        devices_(std::move(devices)) {}

  bool is_in_config() const { return given_ != nullptr; }

  /// The selectors of the devices in `provider.<id>.devices`, in its order.
  Result<std::vector<std::string>> listed_in_config() const {
    std::vector<std::string> out;
    for (const config::Value& value : *given_->value.as_array()) {
      ASSIGN_OR_RETURN(const std::string selector, find(value));
      if (std::find(out.begin(), out.end(), selector) != out.end())
        return config_error(value.where().to_string(), ": '", key_, "' names ", selector, " twice");
      out.push_back(selector);
    }
    if (out.empty())
      return config_error(given_->value.where().to_string(), ": '", key_,
                          "' is empty; remove it, or name one of ", listed(devices_));
    return out;
  }

  /// A config error when `provider.<id>.devices` does not list the device that select.order names.
  Status check_allowed(std::string_view named) const {
    if (given_ == nullptr) return ok_status();
    ASSIGN_OR_RETURN(const std::vector<std::string> allowed, listed_in_config());
    for (const DeviceInfo& device : devices_) {
      const bool is_allowed = std::find(allowed.begin(), allowed.end(), device.selector()) != allowed.end();
      if (answers_to(device, named) && !is_allowed) {
        return config_error(given_->value.where().to_string(), ": '", key_, "' does not list '", named,
                            "', which select.order names; add it there, or remove it from select.order");
      }
    }
    return ok_status();
  }

 private:
  Result<std::string> find(const config::Value& value) const {
    for (const DeviceInfo& device : devices_) {
      if (answers_to(device, *value.as_string())) return device.selector();
    }
    return config_error(value.where().to_string(), ": '", key_, "' names '", *value.as_string(),
                        "', but provider '", label_, "' has no such device; its devices: ", listed(devices_));
  }

  std::string key_;
  const config::EffectiveValue* given_;
  std::string label_;
  std::vector<DeviceInfo> devices_;
};

/// The devices of an entry: the one it names, else those of `provider.<id>.devices`, else the provider's first device.
/// An emulated device is used only when there is no other and select.order names the provider.
Result<std::vector<std::string>> choose_devices(const config::Config& config, LoadedProvider& loaded,
                                                std::string_view named) {
  ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, loaded.devices());
  const DeviceChoice choice(config, loaded.manifest(), devices);
  if (!named.empty()) {
    RETURN_IF_ERROR(choice.check_allowed(named));
    return std::vector<std::string>{std::string(named)};
  }
  if (choice.is_in_config()) return choice.listed_in_config();
  for (const DeviceInfo& device : devices) {
    if (!device.software_emulated) return std::vector<std::string>{device.selector()};
  }
  if (devices.empty()) return not_found("provider '", loaded.id(), "' found no device on this machine");
  if (config->select.automatic) return only_emulated(loaded.id());
  return std::vector<std::string>{devices.front().selector()};
}

InstanceSettings instance_settings(const config::Settings& settings, const DeviceInfo& device) {
  InstanceSettings out;
  out.precision = settings.precision;
  out.deterministic = settings.deterministic;
  out.strict = settings.strict;
  out.blob_limits = {settings.limits.cache_blob_bytes, settings.limits.cache_bytes};
  out.memory_limit = settings.memory.device_limit;
  if (device.kind == TENON_DEVICE_CPU) {
    out.memory_limit = settings.memory.host_limit != 0 ? settings.memory.host_limit : usable_memory();
  }
  return out;
}

class Selector {
 public:
  Selector(const config::Config& config, provider::ProviderRegistry& registry)
      : config_(config), registry_(registry), select_(config.settings().select) {}

  Result<Selection> run() {
    const std::vector<std::string> order = entries();
    for (const std::string& entry : order) {
      const bool waits = can_wait(entry);
      Status status = waits ? check(entry) : add(entry);
      if (status.ok() && waits) out_.unopened.push_back(entry);
      if (status.ok()) continue;
      if (is_final(status)) return status;
      failed_.push_back({entry, std::move(status)});
    }
    collect_passed_over(order);
    if (out_.instances.empty()) return nothing_left();
    return std::move(out_);
  }

  Status open_rest(Selection* selection) {
    out_ = std::move(*selection);
    for (const std::string& entry : std::exchange(out_.unopened, {})) {
      Status status = add(entry);
      if (status.ok()) continue;
      if (is_final(status)) return status;
      out_.passed_over.push_back(passed_over(entry, status));
    }
    *selection = std::move(out_);
    return ok_status();
  }

  /// Appends all errors that could end run() to `failures`, and returns the instances that can be had.
  Selection try_all(std::vector<Failure>* failures) {
    const std::vector<std::string> order = entries();
    for (const std::string& entry : order) {
      Status status = add(entry);
      if (status.ok()) continue;
      std::vector<Failure>& place = is_final(status) ? *failures : failed_;
      place.push_back({entry, std::move(status)});
    }
    collect_passed_over(order);
    if (out_.instances.empty() && failures->empty()) failures->push_back({"", nothing_left()});
    return std::move(out_);
  }

 private:
  std::vector<std::string> entries() { return select_.automatic ? registry_.ids(true) : select_.order; }

  /// True when the failure ends the selection. A wrong setting of a provider does, even if "auto" found the provider.
  bool is_final(const Status& status) const {
    if (no_memory_to_load_) return true;  // going on without the provider would hide that
    const bool named = !select_.automatic || status.kind() == ErrorKind::kConfig;
    return named && select_.fallback == config::OnFailure::kError;
  }

  /// True when a provider before it completes models, no placement rule names it, and it is not pinned.
  bool can_wait(const std::string& entry) const {
    const bool is_named = std::any_of(
        config_->placement.begin(), config_->placement.end(),
        [&](const config::PlacementRule& rule) { return config::provider_of(rule.provider) == entry; });
    const bool is_pinned =
        config_->upgrade == config::UpgradeMode::kPin;  // its file may be gone from the disk
    return select_.automatic && !is_named && !is_pinned && out_.completing() != nullptr;
  }

  /// The errors of a load that the scan and the config show already.
  Status check(const std::string& entry) {
    Status status = check_settings(entry);
    no_memory_to_load_ = status.kind() == ErrorKind::kOutOfMemory;
    return status.ok() ? status : std::move(status).with_context(str_cat("provider '", entry, "'"));
  }
  Status check_settings(const std::string& id) const {
    ASSIGN_OR_RETURN(const provider::ProviderInfo info, registry_.find(id, provider::CheckLevel::kScan));
    RETURN_IF_ERROR(check_devices(info));
    RETURN_IF_ERROR(check_scanned(id));
    RETURN_IF_ERROR(check_deterministic(*info.manifest));
    return config::validate_options(id, info.manifest->options, config_.provider(id).options).status();
  }
  /// An error when `provider.<id>.devices` names a device that the scan did not find.
  Status check_devices(const provider::ProviderInfo& info) const {
    const DeviceChoice choice(config_, *info.manifest, info.devices);
    if (info.devices.empty() || !choice.is_in_config()) return ok_status();  // empty: no scan was made
    return choice.listed_in_config().status();
  }
  Status check_deterministic(const provider::Manifest& manifest) const {
    if (!config_->deterministic || manifest.traits.deterministic) return ok_status();
    return unsupported(
        "precision.deterministic is set, and the manifest of ", manifest.id, " ",
        manifest.version.to_string(),
        " does not promise identical results in every Run; leave the provider out, or unset the key");
  }

  Status add(const std::string& entry) {
    Status status = add_instances(entry);
    return status.ok() ? status : std::move(status).with_context(str_cat("provider '", entry, "'"));
  }

  Status add_instances(const std::string& entry) {
    const std::string id(config::provider_of(entry));
    const config::ProviderSettings& settings = config_.provider(id);
    const Result<std::shared_ptr<LoadedProvider>> found = load(id, entry);
    no_memory_to_load_ = found.status().kind() == ErrorKind::kOutOfMemory;
    RETURN_IF_ERROR(found.status());
    const std::shared_ptr<LoadedProvider>& loaded = *found;
    RETURN_IF_ERROR(check_deterministic(loaded->manifest()));
    ASSIGN_OR_RETURN(const auto options,
                     config::validate_options(id, loaded->manifest().options, settings.options));
    ASSIGN_OR_RETURN(const std::vector<std::string> devices,
                     choose_devices(config_, *loaded, config::device_of(entry)));
    std::vector<std::shared_ptr<Instance>> made;
    for (const std::string& selector : devices) {
      ASSIGN_OR_RETURN(std::shared_ptr<Device> device, Device::open(loaded, selector));
      const InstanceSettings wanted = instance_settings(config_.settings(), device->info());
      ASSIGN_OR_RETURN(std::shared_ptr<Instance> instance,
                       Instance::create(std::move(device), options, wanted));
      made.push_back(std::move(instance));
    }
    for (auto& instance : made) {
      out_.instances.push_back(std::move(instance));
      out_.entries.push_back(entry);
    }
    return ok_status();
  }

  /// Loads the build that the id currently means. With upgrade.mode = "pin": the build that the process keeps.
  Result<std::shared_ptr<LoadedProvider>> load(const std::string& id, const std::string& entry) {
    const config::ProviderSettings& settings = config_.provider(id);
    if (config_->upgrade == config::UpgradeMode::kPin) {
      if (std::shared_ptr<LoadedProvider> kept = Pins::process().find(id, settings.version)) {
        RETURN_IF_ERROR(check_not_denied(id));
        return kept;
      }
    }
    if (select_.automatic && settings.devices.empty() && config::device_of(entry).empty())
      RETURN_IF_ERROR(check_scanned(id));
    ASSIGN_OR_RETURN(std::shared_ptr<LoadedProvider> loaded, registry_.load(id));
    if (config_->upgrade != config::UpgradeMode::kPin) return loaded;
    return Pins::process().keep(settings.version, std::move(loaded));
  }

  /// A pinned build may be gone from the disk, but the config must not have disabled its provider.
  Status check_not_denied(const std::string& id) const {
    Status status = registry_.find(id).status();
    return status.refusal() == provider::refusal_name(provider::Refusal::kDisabled) ? status : ok_status();
  }

  /// An error when the scan found only emulated devices. The provider is then not loaded.
  Status check_scanned(const std::string& id) const {
    ASSIGN_OR_RETURN(const provider::ProviderInfo info, registry_.find(id, provider::CheckLevel::kScan));
    const bool emulated = std::all_of(info.devices.begin(), info.devices.end(),
                                      [](const DeviceInfo& device) { return device.software_emulated; });
    return emulated && !info.devices.empty() ? only_emulated(id) : ok_status();
  }

  /// The builds that the registry passed over, and the entries that failed for another reason.
  void collect_passed_over(const std::vector<std::string>& entries) {
    std::vector<std::string> ids;
    ids.reserve(entries.size());
    for (const std::string& entry : entries) ids.emplace_back(config::provider_of(entry));
    out_.passed_over = registry_.passed_over(select_.automatic ? nullptr : &ids);
    const std::vector<provider::PassedOver> builds = out_.passed_over;
    for (const auto& [entry, status] : failed_) {
      const std::string id(config::provider_of(entry));
      const bool known = std::any_of(builds.begin(), builds.end(), [&, &status = status](const auto& build) {
        return build.provider == id && build.instead.empty() && build.code == status.refusal();
      });
      if (!known) out_.passed_over.push_back(passed_over(entry, status));
    }
  }

  provider::PassedOver passed_over(const std::string& entry, const Status& status) const {
    const auto info = registry_.find(std::string(config::provider_of(entry)));
    const std::string version = info.ok() ? info->manifest->version.to_string() : "";
    if (status.refusal() == provider::skip_name(provider::Skip::kEmulated))
      return provider::passed_over(entry, version, provider::Skip::kEmulated,
                                   "it has only software-emulated devices");
    return provider::passed_over(entry, version, status);
  }

  Status nothing_left() const {
    for (const Failure& failure : failed_) {  // installing a provider would not help
      if (failure.reason.kind() == ErrorKind::kOutOfMemory) return failure.reason;
    }
    std::string text = "no provider can be used";
    for (const provider::PassedOver& each : out_.passed_over) text += "\n  " + each.text();
    if (out_.passed_over.empty()) text += ": none is installed; see `tenon providers list`";
    return Status(StatusCode::kNotFound, std::move(text), ErrorKind::kProviderMissing);
  }

  const config::Config& config_;
  provider::ProviderRegistry& registry_;
  const config::Select& select_;
  std::vector<Failure> failed_;     // those that are not final
  bool no_memory_to_load_ = false;  // no host memory for the last provider; a full device does not count
  Selection out_;
};

}  // namespace

std::shared_ptr<Instance> Selection::completing() const {
  for (auto at = instances.rbegin(); at != instances.rend(); ++at) {
    if ((*at)->completes()) return *at;
  }
  return nullptr;
}

std::vector<partition::ProviderIndex> Selection::find(std::string_view name) const {
  std::vector<partition::ProviderIndex> out;
  const std::string_view id = config::provider_of(name), device = config::device_of(name);
  for (uint32_t i = 0; i < instances.size(); ++i) {
    if (instances[i]->provider_id() != id) continue;
    if (device.empty() || answers_to(instances[i]->device().info(), device)) out.push_back(i);
  }
  return out;
}

Result<Selection> select_instances(const config::Config& config, provider::ProviderRegistry& registry) {
  return Selector(config, registry).run();
}

Status open_rest(const config::Config& config, provider::ProviderRegistry& registry, Selection* selection) {
  return Selector(config, registry).open_rest(selection);
}

Selection try_instances(const config::Config& config, provider::ProviderRegistry& registry,
                        std::vector<Failure>* failures) {
  return Selector(config, registry).try_all(failures);
}

}  // namespace tenon::runtime
