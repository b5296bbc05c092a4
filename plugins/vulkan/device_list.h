// The devices of the machine that this provider can use.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tenon/ep/sinks.hpp"
#include "vk.h"

namespace tenon::vulkan {

/// A Vulkan instance. Thread-safe.
class Api {
 public:
  /// Throws NOT_FOUND if the loader finds no driver.
  Api();
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  VkInstance get() const { return instance_; }

 private:
  VkInstance instance_ = VK_NULL_HANDLE;
};

struct DeviceDescription {
  VkPhysicalDevice device = VK_NULL_HANDLE;
  std::string stable_id, name, vendor, driver_version;
  uint32_t kind = TENON_DEVICE_OTHER;
  bool is_software = false;  // computes on the host's processor
  uint64_t memory_bytes = 0;
  std::vector<std::string> features;
  std::optional<ep::PciAddress> pci;
  std::optional<std::array<uint8_t, 16>> uuid;
};

/// All devices that have what this provider needs: Vulkan 1.2, timeline semaphores and a queue for compute. In the
/// driver's order. Throws NOT_FOUND with the reason if there is none.
std::vector<DeviceDescription> list_devices(const Api& api);
/// The one with this stable id. Throws NOT_FOUND.
DeviceDescription find_device(const Api& api, std::string_view stable_id);

/// The index of the queue family for compute.
std::optional<uint32_t> compute_family(VkPhysicalDevice device);
bool has_extension(VkPhysicalDevice device, std::string_view name);

}  // namespace tenon::vulkan
