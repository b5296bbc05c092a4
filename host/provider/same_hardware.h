// Tells when two providers offer the same physical device.
#pragma once

#include <string>
#include <vector>

#include "host/provider/registry.h"

namespace tenon::provider {

/// The devices of other usable providers in `all` that are the hardware of `device`, a device of `owner`: names for
/// select.order, such as "vulkan/gpu:0", in the order of `all`.
std::vector<std::string> same_hardware(const std::vector<ProviderInfo>& all, const ProviderInfo& owner,
                                       const DeviceInfo& device);

}  // namespace tenon::provider
