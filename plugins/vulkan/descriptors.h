// Descriptor sets: what a launch binds.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "vk.h"

namespace tenon::vulkan {

/// The arguments of a kernel by binding: 'n' the numbers, at binding 0; 's' a storage buffer, 't' a texel buffer.
using Signature = std::string;

/// A layout of descriptor sets and of pipelines.
struct Layout {
  SetLayoutHandle set;
  PipelineLayoutHandle pipeline;
};

/// A descriptor set, owned.
class DescriptorSet {
 public:
  DescriptorSet() = default;
  DescriptorSet(class Descriptors& owner, VkDescriptorPool pool, VkDescriptorSet set)
      : owner_(&owner), pool_(pool), set_(set) {}
  DescriptorSet(DescriptorSet&& other) noexcept
      : owner_(other.owner_), pool_(other.pool_), set_(std::exchange(other.set_, VK_NULL_HANDLE)) {}
  DescriptorSet& operator=(DescriptorSet&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(pool_, other.pool_);
    std::swap(set_, other.set_);
    return *this;
  }
  ~DescriptorSet();
  VkDescriptorSet get() const { return set_; }

 private:
  Descriptors* owner_ = nullptr;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
};

/// The layouts and descriptor sets of a device. Thread-safe.
class Descriptors {
 public:
  explicit Descriptors(VkDevice device) : device_(device) {}

  /// The same object for equal signatures, for the life of the device.
  const Layout& layout(const Signature& signature);
  DescriptorSet make_set(const Layout& layout);

 private:
  friend class DescriptorSet;
  DescriptorPoolHandle make_pool() const;
  void free(VkDescriptorPool pool, VkDescriptorSet set);

  const VkDevice device_;
  std::mutex mutex_;
  std::map<Signature, std::unique_ptr<Layout>> layouts_;
  std::vector<DescriptorPoolHandle> pools_;
};

}  // namespace tenon::vulkan
