#include <memory>
#include <mutex>

#include "host/api/border.h"
#include "host/api/found_providers.h"
#include "host/api/functions.h"
#include "host/api/json.h"
#include "host/api/registered.h"
#include "host/base/fork.h"
#include "host/base/log.h"
#include "host/base/state_folder.h"
#include "host/device/host_api.h"
#include "host/provider/quarantine.h"
#include "host/provider/registry.h"
#include "host/provider/same_hardware.h"

namespace tenon::c_api {
namespace {

struct Registered {
  std::mutex mutex;
  std::vector<std::string> paths;  // guarded by mutex
};
Registered& registered() {
  static auto* const made = [] {
    auto* const one = new Registered;  // never destroyed: sessions may be made while statics are destroyed
    hold_while_forking(one->mutex);
    return one;
  }();
  return *made;
}

Json describe(const provider::DeviceInfo& device, const std::vector<std::string>& same_as) {
  return {{"selector", device.selector()},
          {"kind", provider::device_kind_name(device.kind)},
          {"id", device.stable_id},
          {"name", device.name},
          {"vendor", device.vendor},
          {"memory_bytes", device.memory_bytes},
          {"emulated", device.software_emulated},
          {"uuid", device.uuid},
          {"pci", device.pci},
          {"driver", device.driver_version},
          {"same_as", same_as}};
}

Json describe(const config::OptionSpec& option) {
  Json out = {{"name", option.name}, {"type", config::option_type_name(option.type)}, {"doc", option.doc}};
  if (option.default_value.has_value()) out["default"] = to_json(*option.default_value);
  if (option.min.has_value()) out["min"] = *option.min;
  if (option.max.has_value()) out["max"] = *option.max;
  for (const config::Value& value : option.values) out["values"].push_back(to_json(value));
  return out;
}

Json describe(const provider::ProviderInfo& info, const std::vector<provider::ProviderInfo>& all) {
  Json out;
  out["id"] = info.manifest ? info.manifest->id : "";
  out["version"] = info.manifest ? info.manifest->version.to_string() : "";
  out["name"] = info.manifest ? info.manifest->name : "";
  out["vendor"] = info.manifest ? info.manifest->vendor : "";
  out["manifest"] = info.manifest_path;
  out["library"] = info.file_path;
  out["place"] = {{"number", static_cast<int>(info.place)}, {"name", provider::place_name(info.place)}};
  const uint32_t verdict = verdict_of(info);
  out["verdict"] = verdict == TENON_PROVIDER_USABLE       ? "usable"
                   : verdict == TENON_PROVIDER_NOT_CHOSEN ? "not chosen"
                                                          : "refused";
  out["chosen"] = info.chosen;
  out["state"] = provider::state_name(info.state);
  out["refusal"] = info.refusal == provider::Refusal::kNone ? "" : provider::refusal_name(info.refusal);
  out["reason"] = info.reason;
  out["cure"] = info.cure;
  out["explain"] = info.explain();
  out["devices"] = Json::array();
  for (const provider::DeviceInfo& device : info.devices)
    out["devices"].push_back(describe(device, provider::same_hardware(all, info, device)));
  out["requires"] = Json::object();
  out["options"] = Json::array();
  if (info.manifest) {
    out["requires"] = {{"sonames", info.manifest->required_sonames},
                       {"files", info.manifest->required_files},
                       {"hint", info.manifest->required_hint}};
    for (const config::OptionSpec& option : info.manifest->options)
      out["options"].push_back(describe(option));
  }
  return out;
}

}  // namespace

std::vector<std::string> registered_paths() {
  const std::lock_guard lock(registered().mutex);
  return registered().paths;
}

void add_registered_path(std::string path) {
  const std::lock_guard lock(registered().mutex);
  registered().paths.push_back(std::move(path));
}

tenon_status provider_register(tenon_str manifest_path, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_text(manifest_path, "manifest_path"));
    if (view(manifest_path).empty()) return invalid_input("the manifest's path is empty");
    RETURN_IF_ERROR(provider::check_registered_path(std::string(view(manifest_path))));
    add_registered_path(std::string(view(manifest_path)));
    return ok_status();
  });
}

Result<std::vector<provider::ProviderInfo>> found_providers(const tenon_config* config, uint32_t deep) {
  if (deep > 2) return invalid_input("deep is ", deep, "; it must be 0, 1 or 2");
  ASSIGN_OR_RETURN(const config::Config effective, config_or_default(config));
  provider::RegistryOptions options = provider::RegistryOptions::from_config(effective, runtime::host_api());
  for (const std::string& path : registered_paths()) options.registered.push_back(path);
  options.scan_afresh = deep == 2;
  provider::ProviderRegistry registry(std::move(options));
  for (const std::string& notice : registry.notices()) log_line(TENON_LOG_WARNING, "SEARCH", notice);
  return registry.list(deep != 0 ? provider::CheckLevel::kScan : provider::CheckLevel::kFiles);
}

tenon_status providers_describe(const tenon_config* config, uint32_t deep, tenon_text** out_json,
                                tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(out_json, "out_json"));
    ASSIGN_OR_RETURN(const std::vector<provider::ProviderInfo> found, found_providers(config, deep));
    Json out = Json::array();
    for (const provider::ProviderInfo& info : found) out.push_back(describe(info, found));
    return give_text(out.dump(), out_json);
  });
}

tenon_status quarantine_describe(tenon_str remove_hash, tenon_text** out_json, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_text(remove_hash, "remove_hash"));
    RETURN_IF_ERROR(check_pointer(out_json, "out_json"));  // before a record is removed
    provider::Quarantine quarantine(state_folder().value_or(""));
    if (!view(remove_hash).empty()) RETURN_IF_ERROR(quarantine.remove(std::string(view(remove_hash))));
    Json out = Json::array();
    for (const provider::QuarantineRecord& record : quarantine.list()) {
      out.push_back({{"sha256", record.sha256},
                     {"id", record.provider_id},
                     {"version", record.version},
                     {"library", record.file},
                     {"refusal", record.refusal},
                     {"reason", record.reason},
                     {"last_seconds", record.last_seconds},
                     {"strikes", record.strikes},
                     {"set_aside", record.set_aside()}});
    }
    return give_text(out.dump(), out_json);
  });
}

}  // namespace tenon::c_api
