#include "host/provider/same_hardware.h"

namespace tenon::provider {

std::vector<std::string> same_hardware(const std::vector<ProviderInfo>& all, const ProviderInfo& owner,
                                       const DeviceInfo& device) {
  std::vector<std::string> out;
  for (const ProviderInfo& other : all) {
    if (!other.usable() || !other.manifest) continue;
    if (owner.manifest && other.manifest->id == owner.manifest->id) continue;  // another version, or itself
    for (const DeviceInfo& candidate : other.devices) {
      if (device.is_same_hardware(candidate))
        out.push_back(str_cat(other.manifest->id, "/", candidate.selector()));
    }
  }
  return out;
}

}  // namespace tenon::provider
