// Replaces functions of the Vulkan loader and forwards to them: counts the dispatches that the calling thread records, names their
// shaders, and tells which tensors are in memory that the host has mapped. TENON_BLANK_KERNEL=<id>: its dispatches are left out.
//
// TENON_VULKAN_MESSAGES=<file>: turns the validation layer on and appends its messages to the file, a line each: the kind, the id and
// the text. TENON_DISCRETE=1: plays a device with memory of its own, which the host cannot map. TENON_LEFT_OUT=barriers: no barrier is recorded, which the layer must notice.
//
// The id of a kernel is the hash of its SPIR-V. Binding 0 of a kernel has its numbers and no tensor.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "counter.h"

namespace {

struct Thread {
  uint64_t launches = 0, mapped = 0;
  std::set<std::string> kernels;
  std::string text;
  std::map<VkCommandBuffer, VkPipeline> pipelines;
  std::map<VkCommandBuffer, VkDescriptorSet> sets;
};
thread_local Thread t_thread;

/// What handles stand for. Handles that are destroyed are not forgotten; a new one of the same value replaces them.
struct Known {
  std::map<VkShaderModule, std::string> shaders;
  std::map<VkPipeline, std::string> pipelines;
  std::map<VkBuffer, VkDeviceMemory> memory;
  std::map<VkBufferView, VkBuffer> views;
  std::map<VkDescriptorSet, std::map<uint32_t, VkBuffer>> sets;
  std::set<VkDeviceMemory> mapped;
  std::set<VkDeviceMemory> unseen;  // of the device's own
};
std::mutex g_mutex;
Known g_known;

template <class Function>
Function loaders_own(const char* name) {
  static void* const loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  return loader == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(loader, name));
}
#define OWN(name)                                                \
  static const auto own = loaders_own<decltype(&::name)>(#name); \
  if (own == nullptr) std::abort()

std::string hash_of(const VkShaderModuleCreateInfo& info) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  const auto* bytes = reinterpret_cast<const unsigned char*>(info.pCode);
  for (size_t i = 0; i < info.codeSize; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

bool is_discrete() {
  static const bool discrete = std::getenv("TENON_DISCRETE") != nullptr;
  return discrete;
}

constexpr uint32_t kOwnMemory = 0, kSeenMemory = 1;

/// The driver's only type of memory as two: the device's own, and one that the host sees.
void divide_memory(VkPhysicalDeviceMemoryProperties* memory) {
  memory->memoryTypeCount = memory->memoryHeapCount = 2;
  memory->memoryHeaps[1] = memory->memoryHeaps[0];
  memory->memoryHeaps[0].flags = VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
  memory->memoryHeaps[1].flags = 0;
  memory->memoryTypes[kOwnMemory] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  memory->memoryTypes[kSeenMemory] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                          VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                          VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                                      1};
}

bool is_blank(const std::string& kernel) {
  static const char* const blank = std::getenv("TENON_BLANK_KERNEL");
  return blank != nullptr && kernel == blank;
}

/// Appends one line in one write, so that lines of several processes do not mix.
VkBool32 VKAPI_CALL keep_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                 VkDebugUtilsMessageTypeFlagsEXT,
                                 const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  const char* const path = std::getenv("TENON_VULKAN_MESSAGES");
  std::string line = severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT ? "error\t" : "warning\t";
  line += std::string(data->pMessageIdName == nullptr ? "-" : data->pMessageIdName) + '\t';
  for (const char* c = data->pMessage; *c != '\0'; ++c) line += *c == '\n' || *c == '\t' ? ' ' : *c;
  line += '\n';
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
  close(file);
  return VK_FALSE;
}

template <class Function>
Function of_instance(VkInstance instance, const char* name) {
  static const auto get = loaders_own<PFN_vkGetInstanceProcAddr>("vkGetInstanceProcAddr");
  return reinterpret_cast<Function>(get(instance, name));
}

std::map<VkInstance, VkDebugUtilsMessengerEXT> g_messengers;

}  // namespace

#define INTERPOSED extern "C" __attribute__((visibility("default")))

uint64_t tenon_launches() { return t_thread.launches; }
const char* tenon_launched() {
  t_thread.text.clear();
  for (const std::string& kernel : t_thread.kernels)
    t_thread.text += (t_thread.text.empty() ? "" : ",") + kernel;
  t_thread.kernels.clear();
  return t_thread.text.c_str();
}
uint64_t tenon_mapped_arguments() {
  const uint64_t out = t_thread.mapped;
  t_thread.mapped = 0;
  return out;
}

INTERPOSED VkResult vkCreateInstance(const VkInstanceCreateInfo* given,
                                     const VkAllocationCallbacks* callbacks, VkInstance* out) {
  OWN(vkCreateInstance);
  if (std::getenv("TENON_VULKAN_MESSAGES") == nullptr) return own(given, callbacks, out);
  VkInstanceCreateInfo info = *given;
  std::vector<const char*> layers(info.ppEnabledLayerNames,
                                  info.ppEnabledLayerNames + info.enabledLayerCount),
      extensions(info.ppEnabledExtensionNames, info.ppEnabledExtensionNames + info.enabledExtensionCount);
  layers.push_back("VK_LAYER_KHRONOS_validation");
  extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
  const VkValidationFeatureEnableEXT enabled[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
                                                  VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT};
  VkValidationFeaturesEXT features{};
  features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  features.pNext = info.pNext;
  features.enabledValidationFeatureCount = 2;
  features.pEnabledValidationFeatures = enabled;
  info.pNext = &features;
  info.enabledLayerCount = static_cast<uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const VkResult code = own(&info, callbacks, out);
  if (code != VK_SUCCESS) return code;
  VkDebugUtilsMessengerCreateInfoEXT messenger{};
  messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType =
      VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  messenger.pfnUserCallback = keep_message;
  const auto make = of_instance<PFN_vkCreateDebugUtilsMessengerEXT>(*out, "vkCreateDebugUtilsMessengerEXT");
  const std::lock_guard lock(g_mutex);
  if (make == nullptr || make(*out, &messenger, nullptr, &g_messengers[*out]) != VK_SUCCESS) std::abort();
  return VK_SUCCESS;
}

INTERPOSED void vkDestroyInstance(VkInstance instance, const VkAllocationCallbacks* callbacks) {
  OWN(vkDestroyInstance);
  {
    const std::lock_guard lock(g_mutex);
    if (const auto known = g_messengers.find(instance); known != g_messengers.end()) {
      of_instance<PFN_vkDestroyDebugUtilsMessengerEXT>(instance, "vkDestroyDebugUtilsMessengerEXT")(
          instance, known->second, nullptr);
      g_messengers.erase(known);
    }
  }
  own(instance, callbacks);
}

INTERPOSED void vkCmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                                     VkPipelineStageFlags to, VkDependencyFlags flags, uint32_t memory_count,
                                     const VkMemoryBarrier* memory, uint32_t buffer_count,
                                     const VkBufferMemoryBarrier* buffers, uint32_t image_count,
                                     const VkImageMemoryBarrier* images) {
  OWN(vkCmdPipelineBarrier);
  static const char* const left_out = std::getenv("TENON_LEFT_OUT");
  if (left_out != nullptr && std::string_view(left_out) == "barriers") return;
  own(commands, from, to, flags, memory_count, memory, buffer_count, buffers, image_count, images);
}

INTERPOSED VkResult vkCreateShaderModule(VkDevice device, const VkShaderModuleCreateInfo* info,
                                         const VkAllocationCallbacks* callbacks, VkShaderModule* out) {
  OWN(vkCreateShaderModule);
  const VkResult code = own(device, info, callbacks, out);
  const std::lock_guard lock(g_mutex);
  if (code == VK_SUCCESS) g_known.shaders[*out] = hash_of(*info);
  return code;
}

INTERPOSED VkResult vkCreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                             const VkComputePipelineCreateInfo* infos,
                                             const VkAllocationCallbacks* callbacks, VkPipeline* out) {
  OWN(vkCreateComputePipelines);
  const VkResult code = own(device, cache, count, infos, callbacks, out);
  const std::lock_guard lock(g_mutex);
  for (uint32_t i = 0; i < count && code == VK_SUCCESS; ++i)
    g_known.pipelines[out[i]] = g_known.shaders[infos[i].stage.module];
  return code;
}

INTERPOSED VkResult vkBindBufferMemory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                       VkDeviceSize offset) {
  OWN(vkBindBufferMemory);
  {
    const std::lock_guard lock(g_mutex);
    g_known.memory[buffer] = memory;
  }
  return own(device, buffer, memory, offset);
}

INTERPOSED void vkGetPhysicalDeviceMemoryProperties(VkPhysicalDevice device,
                                                    VkPhysicalDeviceMemoryProperties* out) {
  OWN(vkGetPhysicalDeviceMemoryProperties);
  own(device, out);
  if (is_discrete()) divide_memory(out);
}

INTERPOSED void vkGetPhysicalDeviceMemoryProperties2(VkPhysicalDevice device,
                                                     VkPhysicalDeviceMemoryProperties2* out) {
  OWN(vkGetPhysicalDeviceMemoryProperties2);
  own(device, out);
  if (is_discrete()) divide_memory(&out->memoryProperties);
}

INTERPOSED void vkGetBufferMemoryRequirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements* out) {
  OWN(vkGetBufferMemoryRequirements);
  own(device, buffer, out);
  if (is_discrete()) out->memoryTypeBits = 1u << kOwnMemory | 1u << kSeenMemory;
}

INTERPOSED VkResult vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo* given,
                                     const VkAllocationCallbacks* callbacks, VkDeviceMemory* out) {
  OWN(vkAllocateMemory);
  VkMemoryAllocateInfo info = *given;
  if (is_discrete()) info.memoryTypeIndex = 0;
  const VkResult code = own(device, &info, callbacks, out);
  const std::lock_guard lock(g_mutex);
  if (code == VK_SUCCESS && is_discrete() && given->memoryTypeIndex == kOwnMemory)
    g_known.unseen.insert(*out);
  return code;
}

INTERPOSED VkResult vkMapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                VkDeviceSize bytes, VkMemoryMapFlags flags, void** out) {
  OWN(vkMapMemory);
  {
    const std::lock_guard lock(g_mutex);
    if (g_known.unseen.count(memory) != 0) return VK_ERROR_MEMORY_MAP_FAILED;
    g_known.mapped.insert(memory);
  }
  return own(device, memory, offset, bytes, flags, out);
}

INTERPOSED void vkUnmapMemory(VkDevice device, VkDeviceMemory memory) {
  OWN(vkUnmapMemory);
  {
    const std::lock_guard lock(g_mutex);
    g_known.mapped.erase(memory);
  }
  own(device, memory);
}

INTERPOSED void vkFreeMemory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* callbacks) {
  OWN(vkFreeMemory);
  {
    const std::lock_guard lock(g_mutex);
    g_known.mapped.erase(memory);
    g_known.unseen.erase(memory);
  }
  own(device, memory, callbacks);
}

INTERPOSED VkResult vkCreateBufferView(VkDevice device, const VkBufferViewCreateInfo* info,
                                       const VkAllocationCallbacks* callbacks, VkBufferView* out) {
  OWN(vkCreateBufferView);
  const VkResult code = own(device, info, callbacks, out);
  const std::lock_guard lock(g_mutex);
  if (code == VK_SUCCESS) g_known.views[*out] = info->buffer;
  return code;
}

INTERPOSED void vkUpdateDescriptorSets(VkDevice device, uint32_t count, const VkWriteDescriptorSet* writes,
                                       uint32_t copies, const VkCopyDescriptorSet* copied) {
  OWN(vkUpdateDescriptorSets);
  {
    const std::lock_guard lock(g_mutex);
    for (uint32_t i = 0; i < count; ++i) {
      const VkWriteDescriptorSet& write = writes[i];
      g_known.sets[write.dstSet][write.dstBinding] =
          write.pBufferInfo != nullptr ? write.pBufferInfo->buffer : g_known.views[*write.pTexelBufferView];
    }
  }
  own(device, count, writes, copies, copied);
}

INTERPOSED void vkCmdBindPipeline(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline) {
  OWN(vkCmdBindPipeline);
  t_thread.pipelines[commands] = pipeline;
  own(commands, point, pipeline);
}

INTERPOSED void vkCmdBindDescriptorSets(VkCommandBuffer commands, VkPipelineBindPoint point,
                                        VkPipelineLayout layout, uint32_t first, uint32_t count,
                                        const VkDescriptorSet* sets, uint32_t offset_count,
                                        const uint32_t* offsets) {
  OWN(vkCmdBindDescriptorSets);
  t_thread.sets[commands] = sets[0];
  own(commands, point, layout, first, count, sets, offset_count, offsets);
}

INTERPOSED void vkCmdDispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  OWN(vkCmdDispatch);
  std::string kernel;
  {
    const std::lock_guard lock(g_mutex);
    kernel = g_known.pipelines[t_thread.pipelines[commands]];
    for (const auto& [binding, buffer] : g_known.sets[t_thread.sets[commands]])
      t_thread.mapped += binding > 0 && g_known.mapped.count(g_known.memory[buffer]) != 0;
  }
  ++t_thread.launches;
  t_thread.kernels.insert(kernel);
  if (!is_blank(kernel)) own(commands, x, y, z);
}
