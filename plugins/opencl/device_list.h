// Devices of all OpenCL platforms.
//
// Only enumerate_devices() and device_open() make the first call into OpenCL. A driver may even end the
// process there, which the host's scan process survives.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cl.h"
#include "tenon/ep.hpp"

namespace tenon::opencl {

/// A device before it is opened.
struct DeviceDescription {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string stable_id;  // PCI address or UUID if the driver reports one, else platform and position
  std::string name;
  std::string vendor;
  uint32_t kind = TENON_DEVICE_OTHER;
  bool is_emulated = false;  // it runs on the host's processor
  uint64_t memory_bytes = 0;
  std::vector<std::string> features;
  std::string driver_version;
  // Set if the driver reports them.
  std::optional<ep::PciAddress> pci;
  std::optional<std::array<uint8_t, 16>> uuid;
};

/// All devices in the order of their platforms, at least one. Throws NOT_FOUND with the reason if there are
/// none, and FAILED_PRECONDITION if the process lacks something without which drivers would end it.
std::vector<DeviceDescription> list_devices();
/// The one with this stable id. Throws NOT_FOUND.
DeviceDescription find_device(std::string_view stable_id);

/// A property of a device; `otherwise` where the driver does not know it.
template <class T>
T number(cl_device_id device, cl_device_info what, T otherwise = {}) {
  T out{};
  return clGetDeviceInfo(device, what, sizeof(out), &out, nullptr) == CL_SUCCESS ? out : otherwise;
}
std::string text(cl_device_id device, cl_device_info what);
bool has_extension(cl_device_id device, std::string_view name);

}  // namespace tenon::opencl
