// The list of providers that were found, without JSON.
#include <memory>
#include <vector>

#include "host/api/border.h"
#include "host/api/found_providers.h"
#include "host/api/functions.h"

struct tenon_providers {
  std::vector<tenon::provider::ProviderInfo> found;
  std::vector<std::string> versions;  // of each of `found`
};

namespace tenon::c_api {

tenon_status providers_list(const tenon_config* config, uint32_t deep, tenon_providers** out_providers,
                            tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(out_providers, "out_providers"));
    auto made = std::make_unique<tenon_providers>();
    ASSIGN_OR_RETURN(made->found, found_providers(config, deep));
    for (const provider::ProviderInfo& info : made->found)
      made->versions.push_back(info.manifest ? info.manifest->version.to_string() : "");
    *out_providers = made.release();
    return ok_status();
  });
}

uint32_t providers_count(const tenon_providers* providers) {
  return providers == nullptr ? 0 : static_cast<uint32_t>(providers->found.size());
}

tenon_status providers_get(const tenon_providers* providers, uint32_t index, tenon_provider_info* out_info) {
  return guarded(nullptr, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(providers, "providers"));
    if (index >= providers->found.size()) return invalid_input("there is no index ", index);
    const provider::ProviderInfo& found = providers->found[index];
    tenon_provider_info info{};
    info.verdict = verdict_of(found);
    info.place = static_cast<uint32_t>(found.place);
    if (found.manifest) {
      info.id = to_str(found.manifest->id);
      info.name = to_str(found.manifest->name);
      info.vendor = to_str(found.manifest->vendor);
    }
    info.version = to_str(providers->versions[index]);
    info.manifest = to_str(found.manifest_path);
    info.library = to_str(found.file_path);
    if (found.refusal != provider::Refusal::kNone)
      info.refusal = to_str(provider::refusal_name(found.refusal));
    info.reason = to_str(found.reason);
    info.cure = to_str(found.cure);
    return write_struct(info, out_info);
  });
}

void providers_release(tenon_providers* providers) { delete providers; }

}  // namespace tenon::c_api
