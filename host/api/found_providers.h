// What providers_describe and providers_list tell about.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "host/provider/registry.h"
#include "tenon/tenon.h"

namespace tenon::c_api {

/// Every manifest found under `config` (may be null), as sessions made now would see it. `deep` as in tenon.h.
Result<std::vector<provider::ProviderInfo>> found_providers(const tenon_config* config, uint32_t deep);

/// TENON_PROVIDER_x.
inline uint32_t verdict_of(const provider::ProviderInfo& info) {
  if (info.usable()) return TENON_PROVIDER_USABLE;
  return info.refusal == provider::Refusal::kNone ? TENON_PROVIDER_NOT_CHOSEN : TENON_PROVIDER_REFUSED;
}

}  // namespace tenon::c_api
