// Compute pipelines: shaders with their specialization constants, built once per device. The host caches what the driver
// compiled.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "descriptors.h"
#include "tenon/ep.hpp"
#include "tenon/ep/device/launch.hpp"

namespace tenon::vulkan {

/// SPIR-V of one shader, compiled from shaders/<name>.comp when the provider is built. Static data.
struct Shader {
  std::string_view name;
  std::span<const uint32_t> words;
};

using ep::Size3;

struct Pipeline {
  PipelineHandle handle;
  const Layout* layout = nullptr;
};

/// The pipelines of a device. Thread-safe.
class Pipelines {
 public:
  Pipelines(VkDevice device, Descriptors& descriptors, std::string key);

  /// `constants`: the specialization constants from id 0 on; the first three are the size of a work-group.
  const Pipeline& get(const Shader& shader, const Signature& signature, std::span<const uint32_t> constants);

  /// Adds what earlier processes compiled, from the cache of the host.
  void load(const ep::InstanceSettings& instance);
  /// Stores what the driver compiled, unless nothing is new.
  void save(const ep::InstanceSettings& instance);

 private:
  std::unique_ptr<Pipeline> make(const Shader& shader, const Layout& layout,
                                 std::span<const uint32_t> constants) const;

  const VkDevice device_;
  Descriptors& descriptors_;
  const std::string key_;
  PipelineCacheHandle cache_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Pipeline>> made_;
  bool is_loaded_ = false, is_new_ = false;
  size_t stored_ = 0;  // the hash of what the host's cache has
};

}  // namespace tenon::vulkan
