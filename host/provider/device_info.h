// A device as its provider describes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::provider {

/// A copy of tenon_device_info.
struct DeviceInfo {
  uint32_t kind = 0;       // TENON_DEVICE_x
  uint32_t ordinal = 0;    // counts the provider's devices of this kind, in the provider's order
  uint32_t serialize = 0;  // TENON_SERIALIZE_x
  bool software_emulated = false;
  std::string stable_id, name, vendor;
  uint64_t memory_bytes = 0;
  std::vector<std::string> features;

  /// The name used in the config, such as "gpu:0".
  std::string selector() const;
};

/// "cpu", "gpu", "npu", "other".
std::string_view device_kind_name(uint32_t kind);

}  // namespace tenon::provider
