#include "device_list.h"

#include <algorithm>
#include <cstring>

#include "tenon/ep/device/names.hpp"

namespace tenon::cuda {
namespace {

constexpr int kLeastCapability = 75;

int capability_of(CUdevice device) {
  return attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
         attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

std::string capability_text(int capability) { return ep::cat(capability / 10, ".", capability % 10); }

/// Returns why the device cannot be used, or an empty string.
std::string unfit(CUdevice device) {
  const int capability = capability_of(device);
  if (capability < kLeastCapability)
    return ep::cat("it has compute capability ", capability_text(capability), ", and ",
                   capability_text(kLeastCapability), " is needed");
  if (attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == CU_COMPUTEMODE_PROHIBITED)
    return "its compute mode is 'prohibited'; nvidia-smi -c DEFAULT changes it";
  return {};
}

std::string name_of(CUdevice device) {
  char out[256] = {};
  check(driver().cuDeviceGetName(out, sizeof(out) - 1, device), "cuDeviceGetName");
  return out;
}

DeviceDescription describe(CUdevice device, size_t position) {
  DeviceDescription out;
  out.device = device;
  out.name = name_of(device);
  out.driver_version = ep::cat("CUDA ", version_text(driver().version));
  size_t bytes = 0;
  check(driver().cuDeviceTotalMem(&bytes, device), "cuDeviceTotalMem");
  out.memory_bytes = bytes;
  CUuuid uuid{};
  if (driver().cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS) {
    std::array<uint8_t, 16> copy{};
    std::memcpy(copy.data(), uuid.bytes, copy.size());
    out.uuid = copy;
  }
  const int domain = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
  const int bus = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  const int slot = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  // Tegra's GPU is on no bus.
  if (bus > 0 || slot > 0 || domain > 0)
    out.pci = ep::PciAddress{static_cast<uint32_t>(domain), static_cast<uint32_t>(bus),
                             static_cast<uint32_t>(slot), 0};
  out.stable_id = ep::stable_id(out.pci, out.uuid, "cuda", position);
  out.features = {ep::cat("compute capability ", capability_text(capability_of(device)))};
  return out;
}

}  // namespace

int attribute(CUdevice device, CUdevice_attribute what) {
  int out = 0;
  check(driver().cuDeviceGetAttribute(&out, what, device), "cuDeviceGetAttribute");
  return out;
}

std::vector<DeviceDescription> list_devices() {
  int count = 0;
  check(driver().cuDeviceGetCount(&count), "cuDeviceGetCount");
  ep::require(
      count > 0, TENON_NOT_FOUND,
      "the NVIDIA driver lists no GPU; nvidia-smi tells what it sees, and CUDA_VISIBLE_DEVICES may hide "
      "some");
  if (std::string why = why_no_nvrtc(); !why.empty()) ep::fail(TENON_FAILED_PRECONDITION, why);
  std::vector<DeviceDescription> out;
  std::string refused;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    check(driver().cuDeviceGet(&device, i), "cuDeviceGet");
    const std::string reason = unfit(device);
    if (reason.empty()) {
      out.push_back(describe(device, static_cast<size_t>(i)));
    } else {
      refused += ep::cat(refused.empty() ? "" : "; ", "'", name_of(device), "': ", reason);
    }
  }
  if (out.empty()) ep::fail(TENON_NOT_FOUND, "no GPU can be used: ", refused);
  ep::make_unique_ids(out, [](DeviceDescription& device) -> std::string& { return device.stable_id; });
  return out;
}

DeviceDescription find_device(std::string_view stable_id) {
  for (DeviceDescription& device : list_devices()) {
    if (device.stable_id == stable_id) return std::move(device);
  }
  ep::fail(TENON_NOT_FOUND, "there is no CUDA device '", stable_id, "'");
}

}  // namespace tenon::cuda
