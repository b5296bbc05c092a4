#include "device_list.h"

#include <cstdlib>
#include <cstring>

#include "tenon/ep/device/names.hpp"

namespace tenon::vulkan {
namespace {

constexpr uint32_t kNeededVersion = VK_API_VERSION_1_2;

std::string version_text(uint32_t version) {
  return ep::cat(VK_API_VERSION_MAJOR(version), ".", VK_API_VERSION_MINOR(version), ".",
                 VK_API_VERSION_PATCH(version));
}

std::string why_no_driver(std::string_view said) {
  const char* elsewhere = std::getenv("VK_ICD_FILENAMES");
  if (elsewhere == nullptr) elsewhere = std::getenv("VK_DRIVER_FILES");
  return ep::cat("the Vulkan loader finds no driver (", said, "): no .json file that it can load in ",
                 elsewhere == nullptr ? std::string("/usr/share/vulkan/icd.d or /etc/vulkan/icd.d")
                                      : ep::cat("'", elsewhere, "' (from the environment)"),
                 "; install the driver of the device, or mesa-vulkan-drivers");
}

/// Returns why the device cannot be used, or an empty string.
std::string unfit(VkPhysicalDevice device, const VkPhysicalDeviceProperties& properties) {
  if (properties.apiVersion < kNeededVersion)
    return ep::cat("its driver has Vulkan ", version_text(properties.apiVersion), ", and 1.2 is needed");
  auto newer =
      make_struct<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  auto features = make_struct<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.pNext = &newer;
  vkGetPhysicalDeviceFeatures2(device, &features);
  if (newer.timelineSemaphore == VK_FALSE) return "it has no timeline semaphores";
  if (newer.uniformBufferStandardLayout == VK_FALSE) return "its uniform buffers have no standard layout";
  if (!compute_family(device)) return "it has no queue for compute";
  return {};
}

std::string vendor_of(uint32_t id) {
  switch (id) {
    case 0x1002:
      return "AMD";
    case 0x10DE:
      return "NVIDIA";
    case 0x8086:
      return "Intel";
    case 0x13B5:
      return "ARM";
    case 0x5143:
      return "Qualcomm";
    case 0x106B:
      return "Apple";
    case VK_VENDOR_ID_MESA:
      return "Mesa";
    default:
      return ep::cat("vendor ", id);
  }
}

uint32_t kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return TENON_DEVICE_GPU;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return TENON_DEVICE_CPU;
    default:
      return TENON_DEVICE_OTHER;
  }
}

DeviceDescription describe(VkPhysicalDevice device, size_t position) {
  auto pci = make_struct<VkPhysicalDevicePCIBusInfoPropertiesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
  auto driver =
      make_struct<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  auto ids = make_struct<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  auto properties = make_struct<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  const bool has_pci = has_extension(device, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
  properties.pNext = &ids;
  ids.pNext = &driver;
  if (has_pci) driver.pNext = &pci;
  vkGetPhysicalDeviceProperties2(device, &properties);

  DeviceDescription out;
  out.device = device;
  out.name = properties.properties.deviceName;
  out.vendor = vendor_of(properties.properties.vendorID);
  out.driver_version = ep::cat(driver.driverName, " ", driver.driverInfo);
  out.kind = kind_of(properties.properties.deviceType);
  out.is_software = properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  if (has_pci) out.pci = ep::PciAddress{pci.pciDomain, pci.pciBus, pci.pciDevice, pci.pciFunction};
  std::array<uint8_t, 16> uuid{};
  std::memcpy(uuid.data(), ids.deviceUUID, uuid.size());
  out.uuid = uuid;
  out.stable_id = ep::stable_id(out.pci, out.uuid, ep::slug(driver.driverName, "driver"), position);
  out.features = {ep::cat("Vulkan ", version_text(properties.properties.apiVersion))};
  VkPhysicalDeviceMemoryProperties memory{};
  vkGetPhysicalDeviceMemoryProperties(device, &memory);
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      out.memory_bytes += memory.memoryHeaps[i].size;
  }
  return out;
}

}  // namespace

Api::Api() {
  g_process.claim();
  auto application = make_struct<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pEngineName = "Tenon";
  application.apiVersion = kNeededVersion;
  auto create = make_struct<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  create.pApplicationInfo = &application;
  const VkResult code = vkCreateInstance(&create, nullptr, &instance_);
  if (code == VK_ERROR_INCOMPATIBLE_DRIVER) ep::fail(TENON_NOT_FOUND, why_no_driver(result_name(code)));
  check(code, "vkCreateInstance");
}

Api::~Api() {
  if (instance_ != VK_NULL_HANDLE && !is_forked()) vkDestroyInstance(instance_, nullptr);
}

std::optional<uint32_t> compute_family(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  std::optional<uint32_t> out;
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || families[i].queueCount == 0) continue;
    // A queue without graphics does not wait for what a screen needs.
    if ((families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0) return i;
    if (!out) out = i;
  }
  return out;
}

bool has_extension(VkPhysicalDevice device, std::string_view name) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data());
  for (const VkExtensionProperties& one : all) {
    if (name == one.extensionName) return true;
  }
  return false;
}

std::vector<DeviceDescription> list_devices(const Api& api) {
  uint32_t count = 0;
  const VkResult code = vkEnumeratePhysicalDevices(api.get(), &count, nullptr);
  if (code == VK_ERROR_INITIALIZATION_FAILED || (code >= 0 && count == 0))
    ep::fail(TENON_NOT_FOUND, why_no_driver(code < 0 ? result_name(code) : "it lists no device"));
  check(code, "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> devices(count);
  check(vkEnumeratePhysicalDevices(api.get(), &count, devices.data()), "vkEnumeratePhysicalDevices");
  devices.resize(count);
  std::vector<DeviceDescription> out;
  std::string refused;
  for (size_t i = 0; i < devices.size(); ++i) {
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(devices[i], &properties);
    const std::string reason = unfit(devices[i], properties);
    if (reason.empty()) {
      out.push_back(describe(devices[i], i));
    } else {
      refused += ep::cat(refused.empty() ? "" : "; ", "'", properties.deviceName, "': ", reason);
    }
  }
  if (out.empty()) ep::fail(TENON_NOT_FOUND, "no Vulkan device can be used: ", refused);
  ep::make_unique_ids(out, [](DeviceDescription& device) -> std::string& { return device.stable_id; });
  return out;
}

DeviceDescription find_device(const Api& api, std::string_view stable_id) {
  for (DeviceDescription& device : list_devices(api)) {
    if (device.stable_id == stable_id) return std::move(device);
  }
  ep::fail(TENON_NOT_FOUND, "there is no Vulkan device '", stable_id, "'");
}

}  // namespace tenon::vulkan
