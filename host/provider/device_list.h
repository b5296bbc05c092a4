// Asking a provider for its devices: shared by the scan process and the host.
#pragma once

#include <string>
#include <vector>

#include "host/provider/device_info.h"
#include "tenon/ep.h"

namespace tenon::provider {

/// Most devices one provider may add; more is a broken answer.
inline constexpr size_t kMaxDevices = 1024;

/// Calls enumerate_devices and copies what it adds. On failure returns the provider's code and fills
/// `out_error`; an exception that leaves the provider becomes TENON_INTERNAL.
tenon_status list_devices(const tenon_ep_api& api, tenon_provider* provider,
                          std::vector<DeviceInfo>& out_devices, tenon_error& out_error);

}  // namespace tenon::provider
