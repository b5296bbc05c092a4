#include "pipelines.h"

namespace tenon::vulkan {

Pipelines::Pipelines(VkDevice device, Descriptors& descriptors, std::string key)
    : device_(device), descriptors_(descriptors), key_(std::move(key)) {
  const auto create = make_struct<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  VkPipelineCache cache = VK_NULL_HANDLE;
  check(vkCreatePipelineCache(device_, &create, nullptr, &cache), "vkCreatePipelineCache");
  cache_ = PipelineCacheHandle(device_, cache);
}

std::unique_ptr<Pipeline> Pipelines::make(const Shader& shader, const Layout& layout,
                                          std::span<const uint32_t> constants) const {
  auto create_module = make_struct<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  create_module.codeSize = shader.words.size_bytes();
  create_module.pCode = shader.words.data();
  VkShaderModule raw = VK_NULL_HANDLE;
  check(vkCreateShaderModule(device_, &create_module, nullptr, &raw), "vkCreateShaderModule");
  const ShaderModuleHandle module(device_, raw);  // not needed after the pipeline is made

  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < constants.size(); ++i)
    entries.push_back({i, static_cast<uint32_t>(i * sizeof(uint32_t)), sizeof(uint32_t)});
  const VkSpecializationInfo specialization{static_cast<uint32_t>(entries.size()), entries.data(),
                                            constants.size_bytes(), constants.data()};
  auto create = make_struct<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  create.stage =
      make_struct<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.module = raw;
  create.stage.pName = "main";
  create.stage.pSpecializationInfo = &specialization;
  create.layout = layout.pipeline.get();
  VkPipeline pipeline = VK_NULL_HANDLE;
  check(vkCreateComputePipelines(device_, cache_.get(), 1, &create, nullptr, &pipeline),
        ep::cat("the driver cannot build the shader '", shader.name, "': vkCreateComputePipelines"));
  auto out = std::make_unique<Pipeline>();
  out->handle = PipelineHandle(device_, pipeline);
  out->layout = &layout;
  return out;
}

const Pipeline& Pipelines::get(const Shader& shader, const Signature& signature,
                               std::span<const uint32_t> constants) {
  std::string key = ep::cat(shader.name, "/", signature);
  for (const uint32_t constant : constants) key += ep::cat("/", constant);
  const Layout& layout = descriptors_.layout(signature);
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Pipeline>& known = made_[std::move(key)];
  if (known == nullptr) {
    known = make(shader, layout, constants);
    is_new_ = true;
  }
  return *known;
}

void Pipelines::load(const ep::InstanceSettings& instance) {
  if (ep::host().cache_get == nullptr || instance.host == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_loaded_, true)) return;
  }
  // The host is called without the lock: it may hold one of its own while it asks for a pipeline.
  tenon_str blob{};
  if (ep::host().cache_get(instance.host, ep::to_str(key_), &blob, nullptr) != TENON_OK) return;
  const size_t hash = std::hash<std::string_view>()(ep::view(blob));
  auto create = make_struct<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  create.initialDataSize = ep::view(blob).size();
  create.pInitialData = ep::view(blob).data();
  // A driver ignores data of another driver or device.
  VkPipelineCache stored = VK_NULL_HANDLE;
  const VkResult code = vkCreatePipelineCache(device_, &create, nullptr, &stored);
  ep::host().cache_done(instance.host, blob);
  if (code != VK_SUCCESS) return;  // then the driver compiles again
  const PipelineCacheHandle owned(device_, stored);
  const std::lock_guard lock(mutex_);  // of the cache that grows
  vkMergePipelineCaches(device_, cache_.get(), 1, &stored);
  stored_ = hash;
}

void Pipelines::save(const ep::InstanceSettings& instance) {
  if (ep::host().cache_put == nullptr || instance.host == nullptr) return;
  std::string data;
  size_t hash = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_new_, false)) return;
    size_t bytes = 0;
    if (vkGetPipelineCacheData(device_, cache_.get(), &bytes, nullptr) != VK_SUCCESS || bytes == 0) return;
    data.resize(bytes);
    if (vkGetPipelineCacheData(device_, cache_.get(), &bytes, data.data()) != VK_SUCCESS) return;
    data.resize(bytes);
    hash = std::hash<std::string_view>()(data);
    if (hash == stored_) return;  // pipelines that the driver does not keep, or had
  }
  // Best effort: if the cache is full or read-only, only the next start is slower.
  const tenon_status status =
      ep::host().cache_put(instance.host, ep::to_str(key_), ep::to_str(data), nullptr);
  const std::lock_guard lock(mutex_);
  if (status == TENON_OK) {
    stored_ = hash;
  } else {
    is_new_ = true;
  }
}

}  // namespace tenon::vulkan
