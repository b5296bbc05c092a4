// What a provider tells the host of its devices, their memory, and the times of their work.
#ifndef TENON_EP_SINKS_HPP_
#define TENON_EP_SINKS_HPP_

#include <array>
#include <optional>

#include "tenon/ep/trace.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

struct PciAddress {
  uint32_t domain = 0;
  uint32_t bus = 0;
  uint32_t device = 0;
  uint32_t function = 0;
};

/// `flags` are those of TENON_DEVICE_x that no other field implies: HAS_UUID and HAS_PCI follow from `uuid` and `pci`.
struct DeviceSpec {
  uint32_t kind = TENON_DEVICE_OTHER;
  std::string_view stable_id = {};
  std::string_view name = {};
  std::string_view vendor = {};
  uint64_t memory_bytes = 0;
  uint32_t flags = 0;
  uint32_t serialize = TENON_SERIALIZE_NONE;
  std::span<const tenon_str> features = {};
  std::string_view driver_version = {};
  std::optional<PciAddress> pci = {};
  std::optional<std::array<uint8_t, 16>> uuid = {};  // as Vulkan's deviceUUID and CUDA's cudaUUID_t
};

class DeviceSink {
 public:
  explicit DeviceSink(const tenon_device_sink* sink) : sink_(sink) {}
  void add(const DeviceSpec& device) const {
    tenon_device_info info{};
    info.struct_size = sizeof(info);
    info.kind = device.kind;
    info.flags = device.flags;
    info.serialize = device.serialize;
    info.stable_id = to_str(device.stable_id);
    info.name = to_str(device.name);
    info.vendor = to_str(device.vendor);
    info.memory_bytes = device.memory_bytes;
    info.features = device.features.data();
    info.feature_count = static_cast<uint32_t>(device.features.size());
    info.driver_version = to_str(device.driver_version);
    if (device.pci) {
      info.flags |= TENON_DEVICE_HAS_PCI;
      info.pci_domain = device.pci->domain;
      info.pci_bus = device.pci->bus;
      info.pci_device = device.pci->device;
      info.pci_function = device.pci->function;
    }
    if (device.uuid) {
      info.flags |= TENON_DEVICE_HAS_UUID;
      std::copy(device.uuid->begin(), device.uuid->end(), info.uuid);
    }
    call_host(sink_->add, sink_->context, &std::as_const(info));
  }

 private:
  const tenon_device_sink* sink_;
};

struct DomainSpec {
  uint32_t id = 1;
  uint32_t flags = 0;  // TENON_DOMAIN_x
  uint32_t alignment = 64;
  uint64_t max_buffer_bytes = 0;
  std::string_view name = {};
};

class DomainSink {
 public:
  explicit DomainSink(const tenon_domain_sink* sink) : sink_(sink) {}
  void add(const DomainSpec& domain) const {
    tenon_domain_info info{};
    info.struct_size = sizeof(info);
    info.flags = domain.flags;
    info.id = domain.id;
    info.alignment = domain.alignment;
    info.max_buffer_bytes = domain.max_buffer_bytes;
    info.name = to_str(domain.name);
    call_host(sink_->add, sink_->context, &std::as_const(info));
  }

 private:
  const tenon_domain_sink* sink_;
};

/// When a piece of work ran, on the clock of now_ns().
struct TimeSpan {
  std::string_view name;  // "node 'conv1' (Conv)", a kernel, a copy; never empty
  uint64_t work_id = 0;   // of tenon_run_args or tenon_copy_params; 0: of several calls of a recording
  uint64_t begin_ns = 0, end_ns = 0;
};

class TimeSink {
 public:
  explicit TimeSink(const tenon_time_sink* sink) : sink_(sink) {}
  void add(const TimeSpan& span) const {
    const tenon_time_span raw{sizeof(raw), 0, to_str(span.name), span.work_id, span.begin_ns, span.end_ns};
    call_host(sink_->add, sink_->context, &raw);
  }

 private:
  const tenon_time_sink* sink_;
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_SINKS_HPP_
