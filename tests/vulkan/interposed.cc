#include "tests/vulkan/interposed.h"

#include <dlfcn.h>

#include <cstdlib>

namespace tenon::test {
namespace {

template <class Function>
Function loaders_own(const char* name) {
  static void* const loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  auto* const out = loader == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(loader, name));
  if (out == nullptr) std::abort();
  return out;
}

}  // namespace

VulkanCalls& vulkan_calls() {
  static VulkanCalls calls;
  return calls;
}
VulkanFaults& vulkan_faults() {
  static VulkanFaults faults;
  return faults;
}

}  // namespace tenon::test

using tenon::test::loaders_own;
using tenon::test::vulkan_calls;
using tenon::test::vulkan_faults;

#define INTERPOSED extern "C" __attribute__((visibility("default")))

INTERPOSED VkResult vkBeginCommandBuffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo* info) {
  static const auto own = loaders_own<decltype(&::vkBeginCommandBuffer)>("vkBeginCommandBuffer");
  ++vulkan_calls().begun;
  return own(commands, info);
}

INTERPOSED VkResult vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* work, VkFence fence) {
  static const auto own = loaders_own<decltype(&::vkQueueSubmit)>("vkQueueSubmit");
  if (vulkan_faults().submit.take()) return vulkan_faults().submit.code;
  ++vulkan_calls().submitted;
  return own(queue, count, work, fence);
}

INTERPOSED VkResult vkWaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
  static const auto own = loaders_own<decltype(&::vkWaitSemaphores)>("vkWaitSemaphores");
  if (vulkan_faults().wait.take()) return vulkan_faults().wait.code;
  ++vulkan_calls().waited;
  return own(device, info, timeout);
}

INTERPOSED VkResult vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                     const VkAllocationCallbacks* callbacks, VkDeviceMemory* out) {
  static const auto own = loaders_own<decltype(&::vkAllocateMemory)>("vkAllocateMemory");
  if (vulkan_faults().allocate.take()) return vulkan_faults().allocate.code;
  ++vulkan_calls().allocated;
  return own(device, info, callbacks, out);
}

INTERPOSED VkResult vkCreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                             const VkComputePipelineCreateInfo* infos,
                                             const VkAllocationCallbacks* callbacks, VkPipeline* out) {
  static const auto own = loaders_own<decltype(&::vkCreateComputePipelines)>("vkCreateComputePipelines");
  if (vulkan_faults().pipeline.take()) return vulkan_faults().pipeline.code;
  return own(device, cache, count, infos, callbacks, out);
}
