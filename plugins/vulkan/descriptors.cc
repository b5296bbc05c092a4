#include "descriptors.h"

#include <algorithm>

namespace tenon::vulkan {
namespace {

constexpr uint32_t kSetsPerPool = 256, kStoragePerPool = 5 * kSetsPerPool, kTexelsPerPool = kSetsPerPool;

VkDescriptorType type_of(char kind) {
  return kind == 'n'   ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
         : kind == 't' ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER
                       : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

}  // namespace

DescriptorSet::~DescriptorSet() {
  if (set_ != VK_NULL_HANDLE && !is_forked()) owner_->free(pool_, set_);
}

const Layout& Descriptors::layout(const Signature& signature) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Layout>& known = layouts_[signature];
  if (known != nullptr) return *known;
  auto made = std::make_unique<Layout>();
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (const char kind : signature) {
    bindings.push_back(
        {static_cast<uint32_t>(bindings.size()), type_of(kind), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  }
  auto set =
      make_struct<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  set.bindingCount = static_cast<uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  check(vkCreateDescriptorSetLayout(device_, &set, nullptr, &set_layout), "vkCreateDescriptorSetLayout");
  made->set = SetLayoutHandle(device_, set_layout);
  auto pipeline = make_struct<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  pipeline.setLayoutCount = 1;
  pipeline.pSetLayouts = &set_layout;
  VkPipelineLayout pipeline_layout = VK_NULL_HANDLE;
  check(vkCreatePipelineLayout(device_, &pipeline, nullptr, &pipeline_layout), "vkCreatePipelineLayout");
  made->pipeline = PipelineLayoutHandle(device_, pipeline_layout);
  known = std::move(made);
  return *known;
}

DescriptorPoolHandle Descriptors::make_pool() const {
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, kSetsPerPool},
                                        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kStoragePerPool},
                                        {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, kTexelsPerPool}};
  auto create = make_struct<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  create.flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT;
  create.maxSets = kSetsPerPool;
  create.poolSizeCount = static_cast<uint32_t>(std::size(sizes));
  create.pPoolSizes = sizes;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  check(vkCreateDescriptorPool(device_, &create, nullptr, &pool), "vkCreateDescriptorPool");
  return {device_, pool};
}

DescriptorSet Descriptors::make_set(const Layout& layout) {
  const VkDescriptorSetLayout set_layout = layout.set.get();
  auto allocate = make_struct<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = &set_layout;
  const std::lock_guard lock(mutex_);
  // The newest pool first: older ones are full most of the time.
  for (auto pool = pools_.rbegin(); pool != pools_.rend(); ++pool) {
    allocate.descriptorPool = pool->get();
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult code = vkAllocateDescriptorSets(device_, &allocate, &set);
    if (code == VK_SUCCESS) return {*this, pool->get(), set};
    if (code != VK_ERROR_OUT_OF_POOL_MEMORY && code != VK_ERROR_FRAGMENTED_POOL)
      check(code, "vkAllocateDescriptorSets");
  }
  pools_.push_back(make_pool());
  allocate.descriptorPool = pools_.back().get();
  VkDescriptorSet set = VK_NULL_HANDLE;
  check(vkAllocateDescriptorSets(device_, &allocate, &set), "vkAllocateDescriptorSets");
  return {*this, pools_.back().get(), set};
}

void Descriptors::free(VkDescriptorPool pool, VkDescriptorSet set) {
  const std::lock_guard lock(mutex_);
  vkFreeDescriptorSets(device_, pool, 1, &set);
}

}  // namespace tenon::vulkan
