// What providers_describe and providers_list tell about.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "host/provider/registry.h"
#include "tenon/tenon.h"

namespace tenon::c_api {

/// Every manifest found under `config` (may be null), as sessions made now would see it. `deep` as in tenon.h.
Result<std::vector<provider::ProviderInfo>> found_providers(const tenon_config* config, uint32_t deep);

}  // namespace tenon::c_api
