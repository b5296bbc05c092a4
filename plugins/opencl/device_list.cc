#include "device_list.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tenon/ep/device/names.hpp"

namespace tenon::opencl {
namespace {

// Khronos extensions that headers of OpenCL may lack.
constexpr cl_device_info kDeviceUuid = 0x106A;     // cl_khr_device_uuid, 16 bytes
constexpr cl_device_info kDevicePciInfo = 0x410F;  // cl_khr_pci_bus_info, four numbers

std::string trimmed(std::string text) {
  text.resize(std::strlen(text.c_str()));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

std::string text(cl_device_id device, cl_device_info what) {
  size_t size = 0;
  if (clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string out(size, '\0');
  check(clGetDeviceInfo(device, what, size, out.data(), nullptr), "clGetDeviceInfo");
  return trimmed(std::move(out));
}

bool has_extension(cl_device_id device, std::string_view name) {
  const std::string list = " " + text(device, CL_DEVICE_EXTENSIONS) + " ";
  return list.find(ep::cat(" ", name, " ")) != std::string::npos;
}

namespace {

std::string platform_text(cl_platform_id platform, cl_platform_info what) {
  size_t size = 0;
  if (clGetPlatformInfo(platform, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string out(size, '\0');
  check(clGetPlatformInfo(platform, what, size, out.data(), nullptr), "clGetPlatformInfo");
  return trimmed(std::move(out));
}

std::optional<ep::PciAddress> pci_of(cl_device_id device) {
  cl_uint out[4] = {};  // domain, bus, device, function
  if (!has_extension(device, "cl_khr_pci_bus_info") ||
      clGetDeviceInfo(device, kDevicePciInfo, sizeof(out), out, nullptr) != CL_SUCCESS)
    return std::nullopt;
  return ep::PciAddress{out[0], out[1], out[2], out[3]};
}

std::optional<std::array<uint8_t, 16>> uuid_of(cl_device_id device) {
  std::array<uint8_t, 16> out{};
  if (!has_extension(device, "cl_khr_device_uuid") ||
      clGetDeviceInfo(device, kDeviceUuid, sizeof(out), out.data(), nullptr) != CL_SUCCESS)
    return std::nullopt;
  return out;
}

uint32_t kind_of(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return TENON_DEVICE_GPU;
  if ((type & CL_DEVICE_TYPE_CPU) != 0) return TENON_DEVICE_CPU;
  return TENON_DEVICE_OTHER;
}

std::vector<std::string> features_of(cl_device_id device) {
  std::vector<std::string> out{text(device, CL_DEVICE_VERSION)};
  for (const char* name : {"cl_khr_fp16", "cl_khr_fp64", "cl_khr_il_program"}) {
    if (has_extension(device, name)) out.emplace_back(name);
  }
  return out;
}

DeviceDescription describe(cl_platform_id platform, cl_device_id device, const std::string& platform_slug,
                           size_t position) {
  DeviceDescription out;
  out.platform = platform;
  out.device = device;
  out.pci = pci_of(device);
  out.uuid = uuid_of(device);
  out.stable_id = ep::stable_id(out.pci, out.uuid, platform_slug, position);
  out.name = text(device, CL_DEVICE_NAME);
  out.vendor = text(device, CL_DEVICE_VENDOR);
  const auto type = number<cl_device_type>(device, CL_DEVICE_TYPE);
  out.kind = kind_of(type);
  out.is_emulated = (type & CL_DEVICE_TYPE_CPU) != 0;
  out.memory_bytes = number<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
  out.features = features_of(device);
  out.driver_version = text(device, CL_DRIVER_VERSION);
  return out;
}

std::vector<cl_platform_id> platforms() {
  cl_uint count = 0;
  // Also covers -1001, the loader's code for "no driver installed".
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_platform_id> out(count);
  check(clGetPlatformIDs(count, out.data(), nullptr), "clGetPlatformIDs");
  return out;
}

std::vector<cl_device_id> devices(cl_platform_id platform) {
  cl_uint count = 0;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_device_id> out(count);
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, out.data(), nullptr), "clGetDeviceIDs");
  return out;
}

/// Kernels are built at run time, so a device without a compiler cannot be used.
bool is_usable(cl_device_id device) {
  return number<cl_bool>(device, CL_DEVICE_AVAILABLE) != 0 &&
         number<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE) != 0 &&
         number<cl_bool>(device, CL_DEVICE_ENDIAN_LITTLE) != 0;
}

/// Drivers look up processors and buses in /sys. PoCL ends the process if it finds no processors. The scan
/// cannot catch this if it ran with /sys in place.
void require_system_folders() {
#ifdef __linux__
  std::error_code error;
  ep::require(std::filesystem::exists("/sys/devices/system/cpu", error), TENON_FAILED_PRECONDITION,
              "this process cannot see /sys, without which OpenCL drivers for CPUs end the process; "
              "mount /sys in the container or chroot");
#endif
}

std::string why_no_driver() {
  const char* elsewhere = std::getenv("OCL_ICD_VENDORS");
  return ep::cat(
      "the OpenCL loader finds no driver: no .icd file that it can load in ",
      elsewhere == nullptr ? "/etc/OpenCL/vendors" : ep::cat("'", elsewhere, "' (from OCL_ICD_VENDORS)"));
}

std::string why_no_device(const std::vector<cl_platform_id>& drivers) {
  std::string names;
  for (auto* const driver : drivers)
    names += ep::cat(names.empty() ? "" : ", ", platform_text(driver, CL_PLATFORM_NAME));
  return ep::cat("no OpenCL driver has a device that is available and builds kernels: ", names);
}

std::vector<DeviceDescription> find_devices() {
  const std::vector<cl_platform_id> drivers = platforms();
  if (drivers.empty()) ep::fail(TENON_NOT_FOUND, why_no_driver());
  std::vector<DeviceDescription> out;
  for (auto* const platform : drivers) {
    const std::string name = ep::slug(platform_text(platform, CL_PLATFORM_NAME), "platform");
    size_t position = 0;
    for (auto* const device : devices(platform)) {
      if (is_usable(device)) out.push_back(describe(platform, device, name, position));
      ++position;
    }
  }
  if (out.empty()) ep::fail(TENON_NOT_FOUND, why_no_device(drivers));
  ep::make_unique_ids(out, [](DeviceDescription& device) -> std::string& { return device.stable_id; });
  return out;
}

}  // namespace

std::vector<DeviceDescription> list_devices() {
  require_system_folders();
  g_process.claim();
  std::vector<DeviceDescription> out;
  with_deep_stack([&] { out = find_devices(); });
  return out;
}

DeviceDescription find_device(std::string_view stable_id) {
  for (DeviceDescription& device : list_devices()) {
    if (device.stable_id == stable_id) return std::move(device);
  }
  ep::fail(TENON_NOT_FOUND, "there is no OpenCL device '", stable_id, "'");
}

}  // namespace tenon::opencl
