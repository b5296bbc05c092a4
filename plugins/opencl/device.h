// An open device: context, limits, memory and built OpenCL programs; and an instance of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device_list.h"
#include "memory.h"
#include "source.h"
#include "tenon/ep/device/clamp.hpp"

namespace tenon::opencl {

class Stream;

struct Provider {
  explicit Provider(const tenon_provider_params&) {}
  void devices(const ep::DeviceSink& sink) const;
};

/// Properties by which kernels choose a variant. They are probed, never derived from a device's name.
struct Limits {
  cl_device_type type = 0;
  bool unified_memory = false;
  bool half = false;         // it computes in float16
  bool float64 = false;      // it computes in float64
  uint32_t alignment = 128;  // of buffers and of tensors in them, in bytes
  uint64_t max_allocation = 0;
  size_t max_group = 1;
  uint32_t compute_units = 1;
  bool is_cpu() const { return (type & CL_DEVICE_TYPE_CPU) != 0; }
};

/// An open device. Thread-safe.
class Device {
 public:
  Device(const Provider&, std::string_view stable_id);

  void domains(const ep::DomainSink& sink) const;
  ep::Allocation allocate(uint32_t domain, uint64_t bytes, const Stream*) const;
  void free(tenon_buffer* buffer, const Stream*) const;
  void copy(const tenon_location& to, const tenon_location& from, uint64_t bytes, Stream* stream,
            uint64_t work_id) const;
  void* map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes, uint32_t flags) const;
  void unmap(tenon_buffer* buffer, void* address) const;

  cl_device_id id() const { return description_.device; }
  cl_context context() const { return context_.get(); }
  const Limits& limits() const { return limits_; }
  /// For copies and maps without a stream.
  cl_command_queue queue() const { return queue_.get(); }
  /// `measured`: commands have times.
  QueueHandle make_queue(bool measured = false) const;
  MemHandle make_buffer(uint64_t bytes, cl_mem_flags flags = CL_MEM_READ_WRITE, void* host = nullptr) const;
  /// Identifies the driver and device for which built OpenCL programs are valid.
  const std::string& build_key() const { return build_key_; }
  ClPrograms& cl_programs() { return cl_programs_; }

 private:
  explicit Device(const DeviceDescription& description);
  /// Throws UNIMPLEMENTED for memory of another device.
  Place place_of(const tenon_location& location) const;

  DeviceDescription description_;
  Limits limits_;
  ContextHandle context_;
  QueueHandle queue_;
  std::string build_key_;
  ClPrograms cl_programs_;
};

/// A device with options. Kernels get it from their NodeView with instance_of().
struct Instance : ep::InstanceSettings {
  Instance(Device& device, const tenon_instance_params& params);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// Claims the nodes that kernels support. Values are in the device's memory, shape inputs in the host's.
  void offer(const tenon_graph* graph, const tenon_claim_sink* sink) const;
  /// Whether this instance accepts tensors of this element type.
  bool stores(uint32_t dtype) const;

  /// The memory domain of claims.
  uint32_t domain() const { return uses_host_memory ? TENON_DOMAIN_HOST : kDeviceDomain; }

  Device& device;
  bool uses_host_memory = false;    // works on the host's tensors in place, without copies
  bool constants_in_place = false;  // reads constants where the host has them
  bool float16 = false;
  bool warm = true;
  QueueHandle queue;  // for runs without a stream
};

using NodeSettings = ep::NodeSettings<Instance>;
inline const Instance& instance_of(const ep::NodeView& node) { return NodeSettings::of(node).instance; }
/// The range to which the kernel must clamp its output. Only the operators that clamp_after() accepts get one.
inline ep::Clamp clamp_of(const ep::NodeView& node) { return NodeSettings::of(node).clamp; }

}  // namespace tenon::opencl
