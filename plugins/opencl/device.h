// Devices of all OpenCL platforms, and what of one is open: its context, limits and built programs.
//
// Enumerating is the first call into OpenCL and happens in enumerate_devices and device_open only: a driver
// may do anything there, even end the process, which the host's scan helper takes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cl.h"
#include "source.h"
#include "tenon/ep.hpp"

namespace tenon::opencl {

inline constexpr uint32_t kDeviceDomain = 1;

/// A device before it is opened.
struct DeviceDescription {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string stable_id;  // PCI address or UUID where the driver tells, else platform and position
  std::string name;
  std::string vendor;
  uint32_t kind = TENON_DEVICE_OTHER;
  bool is_emulated = false;  // runs on the host's processor
  uint64_t memory_bytes = 0;
  std::vector<std::string> features;
};

/// All devices in the order of their platforms, at least one. NOT_FOUND says why there is none;
/// FAILED_PRECONDITION when this process lacks what drivers end a process without.
std::vector<DeviceDescription> list_devices();

/// What kernels choose their variant by; probed, never looked up by name.
struct Limits {
  cl_device_type type = 0;
  bool unified_memory = false;
  bool half = false;         // arithmetic in float16
  bool float64 = false;      // arithmetic in float64
  uint32_t alignment = 128;  // of buffers and what lies in them, bytes
  uint64_t max_allocation = 0;
  size_t max_group = 1;
  uint32_t compute_units = 1;
  bool is_cpu() const { return (type & CL_DEVICE_TYPE_CPU) != 0; }
};

/// An open device; thread-safe.
class Device {
 public:
  explicit Device(const DeviceDescription& description);

  cl_device_id id() const { return description_.device; }
  cl_context context() const { return context_.get(); }
  const Limits& limits() const { return limits_; }
  /// For copies and maps without a stream.
  cl_command_queue queue() const { return queue_.get(); }
  QueueHandle make_queue() const;
  MemHandle make_buffer(uint64_t bytes, cl_mem_flags flags = CL_MEM_READ_WRITE, void* host = nullptr) const;
  /// Driver and device: what a built program is good for.
  const std::string& build_key() const { return build_key_; }
  Programs& programs() { return programs_; }

 private:
  DeviceDescription description_;
  Limits limits_;
  ContextHandle context_;
  QueueHandle queue_;
  std::string build_key_;
  Programs programs_;
};

/// A device with options. Kernels find it behind their NodeView, see instance_of().
struct Instance : ep::InstanceContext {
  Instance(Device& device, const tenon_instance_params& params);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// Whether tensors of this element type are taken.
  bool stores(uint32_t dtype) const;

  /// The domain that claims ask for.
  uint32_t domain() const { return uses_host_memory ? TENON_DOMAIN_HOST : kDeviceDomain; }

  Device& device;
  bool uses_host_memory = false;  // works where the host's tensors are, without copies
  bool float16 = false;
  bool warm = true;
  QueueHandle queue;  // of runs without a stream
};

/// Values below `low` become `low`, above `high` become `high`: a Relu or Clip done with the node before it.
struct Range {
  float low = 0, high = 0;
  explicit operator bool() const { return low != high; }
};

/// What stands behind the NodeView that a kernel is asked and made with.
struct NodeContext : ep::InstanceContext {
  NodeContext(const Instance& instance, Range cut)
      : ep::InstanceContext(instance), instance(instance), cut(cut) {}
  const Instance& instance;
  Range cut;
};

inline const NodeContext& context_of(const ep::NodeView& node) {
  return static_cast<const NodeContext&>(node.instance());
}
inline const Instance& instance_of(const ep::NodeView& node) { return context_of(node).instance; }
/// What the kernel must cut its output to; only those that fuse() names are given one.
inline Range cut_of(const ep::NodeView& node) { return context_of(node).cut; }

}  // namespace tenon::opencl
