// An open device: queue, memory, pipelines; and an instance of it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "descriptors.h"
#include "device_list.h"
#include "hazards.h"
#include "memory.h"
#include "pipelines.h"
#include "tenon/ep/device/clamp.hpp"
#include "tenon/ep/device/names.hpp"
#include "variants.h"

namespace tenon::vulkan {

class Stream;

class Provider {
 public:
  explicit Provider(const tenon_provider_params&) {}
  void devices(const ep::DeviceSink& sink);
  /// Made at the first call.
  const Api& api();

 private:
  std::mutex mutex_;
  std::optional<Api> api_;
};

/// Properties by which kernels choose a variant. They are probed, never derived from a device's name.
struct Limits {
  bool is_software = false;
  bool unified_memory = false;  // the host sees the device's fastest memory
  bool int64 = false;           // kernels compute with 64-bit integers
  bool float64 = false;
  uint32_t max_shared_bytes = 16384;
  uint32_t max_group = 128;  // work-items of a work-group
  uint32_t max_groups[3] = {65535, 65535, 65535};
  uint32_t subgroup = 1;             // work-items of a subgroup
  bool subgroup_arithmetic = false;  // reductions within a subgroup
  uint64_t alignment = 64;           // of tensors, in bytes
  uint64_t binding_alignment = 16;   // of the begin of a bound range
  uint64_t max_range = 0;            // bytes that a kernel sees of one tensor
  uint64_t max_texels = 0;           // of a texel buffer
  uint64_t max_allocation = 0;
  int64_t max_steps = INT64_MAX;  // of all loops of a work-item; they end after it without an error
  double timestamp_ns = 0;        // of one tick; 0: the queue has no timestamps
  uint64_t timestamp_mask = 0;
};

/// An open device. Thread-safe.
class Device {
 public:
  Device(Provider& provider, std::string_view stable_id);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void domains(const ep::DomainSink& sink) const;
  tenon_memory_info memory() const;
  void trim();
  ep::Allocation allocate(uint32_t domain, uint64_t bytes, const Stream*);
  void free(tenon_buffer* buffer, Stream* stream) const;
  void copy(const tenon_location& to, const tenon_location& from, uint64_t bytes, Stream* stream,
            uint64_t work_id);
  void* map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes, uint32_t flags) const;
  void unmap(tenon_buffer* buffer, void* address) const;

  VkDevice get() const { return device_; }
  const Limits& limits() const { return limits_; }
  uint32_t family() const { return family_; }
  MemoryPool& device_memory() { return *device_memory_; }
  /// Memory that the host sees.
  MemoryPool& staging_memory() { return *staging_memory_; }
  Pipelines& pipelines() { return *pipelines_; }
  Descriptors& descriptors() { return *descriptors_; }
  Variants& variants() { return *variants_; }
  /// Identifies driver and device, for what was compiled for them.
  const std::string& build_key() const { return build_key_; }
  /// Bytes for descriptors of tensors without elements.
  BufferRange nothing() const;
  /// Takes one call at a time. `fence`: signalled when the work is done; may be null.
  void submit(std::span<const VkSubmitInfo> work, VkFence fence = VK_NULL_HANDLE);
  /// Enqueues work with `enqueue(stream)` and waits for it.
  void do_now(const std::function<void(Stream&)>& enqueue);

 private:
  Device(Provider& provider, const DeviceDescription& description);
  void read_limits();
  void make_device();

  DeviceDescription description_;
  Limits limits_;
  uint32_t family_ = 0;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  bool tells_budget_ = false;
  std::atomic<bool> queue_is_busy_{false};  // a Run without a stream takes no mutex (R41)
  std::string build_key_;
  std::optional<MemoryPool> device_memory_, staging_memory_;
  std::unique_ptr<Descriptors> descriptors_;
  std::unique_ptr<Pipelines> pipelines_;
  std::unique_ptr<Variants> variants_;
  OwnedPiece nothing_;
  std::mutex own_stream_mutex_;
  std::unique_ptr<Stream> own_stream_;  // for copies and runs without a stream
};

/// A device with options. Kernels get it from their NodeView with instance_of().
struct Instance : ep::InstanceSettings {
  Instance(Device& device, const tenon_instance_params& params);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// Claims the nodes that kernels support.
  void offer(const tenon_graph* graph, const tenon_claim_sink* sink) const;
  /// Empty if this instance can hold the value, else the reason.
  std::string unfit(const ep::ValueView& value) const;

  /// The memory domain of claims.
  uint32_t domain() const { return in_host_memory ? kStagingDomain : kDeviceDomain; }

  Device& device;
  bool in_host_memory = false;  // tensors are where the host sees them
  bool float16 = true;
  std::optional<Form> form;  // of all kernels that go over rows; nothing: see measures()
  /// Whether forms are chosen by timing, not by a rule.
  bool measures() const { return !form && !deterministic; }
};

using NodeSettings = ep::NodeSettings<Instance>;
inline const Instance& instance_of(const ep::NodeView& node) { return NodeSettings::of(node).instance; }
/// The range to which the kernel must clamp its output. Only operators with an ep::Epilogue get one.
inline ep::Clamp clamp_of(const ep::NodeView& node) { return NodeSettings::of(node).clamp; }

}  // namespace tenon::vulkan
