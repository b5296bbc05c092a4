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
  std::string uuid;            // 36 characters as in RFC 4122; empty: unknown
  std::string pci;             // "0000:01:00.0"; empty: unknown, or no PCI device
  std::string driver_version;  // empty: unknown
  std::vector<std::string> features;

  /// The name used in the config, such as "gpu:0".
  std::string selector() const;
  /// Both name the same hardware, by uuid or PCI address. False when neither is known for both.
  bool is_same_hardware(const DeviceInfo& other) const;
};

/// "cpu", "gpu", "npu", "other".
std::string_view device_kind_name(uint32_t kind);

}  // namespace tenon::provider
