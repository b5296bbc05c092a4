// The devices of the machine that this provider can use.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "api.h"
#include "tenon/ep/sinks.hpp"

namespace tenon::cuda {

/// A device before it is opened.
struct DeviceDescription {
  CUdevice device = 0;
  std::string stable_id;  // its PCI address, or its UUID
  std::string name, driver_version;
  uint64_t memory_bytes = 0;
  std::vector<std::string> features;
  std::optional<ep::PciAddress> pci;
  std::optional<std::array<uint8_t, 16>> uuid;
};

/// All devices of compute capability 7.5 and later, in the driver's order. Throws with the reason if there is none: NOT_FOUND, or
/// FAILED_PRECONDITION where the machine lacks software.
std::vector<DeviceDescription> list_devices();
/// The one with this stable id. Throws NOT_FOUND.
DeviceDescription find_device(std::string_view stable_id);

/// A property of a device.
int attribute(CUdevice device, CUdevice_attribute what);

}  // namespace tenon::cuda
