// Vulkan 1.2 with RAII handles, and errors as exceptions.
#pragma once

#include <vulkan/vulkan.h>

#include <string>
#include <string_view>
#include <utility>

#include "tenon/ep/device/own_process.hpp"

namespace tenon::vulkan {

/// Claimed before the first use of Vulkan.
inline constinit ep::OwnProcess g_process("Vulkan");
inline bool is_forked() { return g_process.is_forked(); }

/// A name such as "VK_ERROR_DEVICE_LOST", or the number.
std::string result_name(VkResult code);
/// The error of a call. Out of memory and device lost are reported as such.
ep::Error error_of(VkResult code, std::string_view what);
/// Throws if a call failed.
inline void check(VkResult code, std::string_view what) {
  if (code < 0) [[unlikely]]
    throw error_of(code, what);
}

/// Owns an object of a device.
template <class T, auto kDestroy>
class Handle {
 public:
  Handle() = default;
  Handle(VkDevice device, T object) : device_(device), object_(object) {}
  Handle(Handle&& other) noexcept
      : device_(other.device_), object_(std::exchange(other.object_, VK_NULL_HANDLE)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != VK_NULL_HANDLE && !is_forked()) kDestroy(device_, object_, nullptr);
  }
  T get() const { return object_; }
  explicit operator bool() const { return object_ != VK_NULL_HANDLE; }

 private:
  VkDevice device_ = VK_NULL_HANDLE;
  T object_ = VK_NULL_HANDLE;
};

using BufferHandle = Handle<VkBuffer, vkDestroyBuffer>;
using BufferViewHandle = Handle<VkBufferView, vkDestroyBufferView>;
using MemoryHandle = Handle<VkDeviceMemory, vkFreeMemory>;
using FenceHandle = Handle<VkFence, vkDestroyFence>;
using SemaphoreHandle = Handle<VkSemaphore, vkDestroySemaphore>;
using CommandPoolHandle = Handle<VkCommandPool, vkDestroyCommandPool>;
using QueryPoolHandle = Handle<VkQueryPool, vkDestroyQueryPool>;
using ShaderModuleHandle = Handle<VkShaderModule, vkDestroyShaderModule>;
using SetLayoutHandle = Handle<VkDescriptorSetLayout, vkDestroyDescriptorSetLayout>;
using PipelineLayoutHandle = Handle<VkPipelineLayout, vkDestroyPipelineLayout>;
using PipelineHandle = Handle<VkPipeline, vkDestroyPipeline>;
using PipelineCacheHandle = Handle<VkPipelineCache, vkDestroyPipelineCache>;
using DescriptorPoolHandle = Handle<VkDescriptorPool, vkDestroyDescriptorPool>;

/// A struct of Vulkan with its sType; all else is zero.
template <class T>
T make_struct(VkStructureType type) {
  T out{};
  out.sType = type;
  return out;
}

}  // namespace tenon::vulkan
