// Lists a provider's devices. The scan process and the host share this code.
#pragma once

#include <string>
#include <vector>

#include "host/provider/device_info.h"
#include "tenon/ep.h"

namespace tenon::provider {

/// Most devices that one provider may add. More is an error.
inline constexpr size_t kMaxDevices = 1024;

/// Calls enumerate_devices and copies the devices that it adds. On failure returns the provider's code and fills
/// `out_error`. An exception that leaves the provider becomes TENON_INTERNAL.
tenon_status list_devices(const tenon_ep_api& api, tenon_provider* provider,
                          std::vector<DeviceInfo>& out_devices, tenon_error& out_error);

}  // namespace tenon::provider
