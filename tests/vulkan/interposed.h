// Functions of Vulkan that stand before the loader's, because the test program exports them: they count, and fail on demand.
#pragma once

#include <vulkan/vulkan.h>

#include <atomic>

namespace tenon::test {

/// Calls since the counters were last set to 0.
struct VulkanCalls {
  std::atomic<int> begun{0}, submitted{0}, waited{0}, allocated{0};
  void reset() { begun = submitted = waited = allocated = 0; }
};
VulkanCalls& vulkan_calls();

/// What the next calls of each kind return instead of doing anything: as many as `times`.
struct VulkanFault {
  std::atomic<int> times{0};
  VkResult code = VK_SUCCESS;
  bool take() { return times > 0 && times-- > 0; }
  void set(VkResult what, int count) {
    code = what;
    times = count;
  }
};
struct VulkanFaults {
  VulkanFault submit, wait, allocate, pipeline;
  /// No call fails any more.
  void reset() { submit.times = wait.times = allocate.times = pipeline.times = 0; }
};
VulkanFaults& vulkan_faults();

}  // namespace tenon::test
