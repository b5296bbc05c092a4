// Provider, devices and instances of the fake accelerator.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "memory.h"

namespace accelerator {

struct Provider {
  explicit Provider(const tenon_provider_params& params) : host(params.host) {}
  void devices(const DeviceSink& sink) const;
  /// Throws if a device is still open.
  void quiesce(int64_t timeout_ns) const;

  tenon_host_provider* host;
  std::atomic<int> devices_open{0};
  std::atomic<bool> lost{false};
  std::atomic<int64_t> faults{0};  // injected by all instances so far
};

struct DeviceKind {
  const char* stable_id;
  const char* name;
  uint32_t serialize;
  uint64_t max_buffer_bytes;
  uint32_t domain_flags;
};
/// Three devices with different demands and offers to the host.
inline constexpr DeviceKind kDevices[] = {
    {"fake-0", "Fake accelerator 0", TENON_SERIALIZE_BINDING, 0, 0},
    {"fake-1", "Fake accelerator 1", TENON_SERIALIZE_DEVICE, 1 << 20, 0},
    {"fake-2", "Fake accelerator 2", TENON_SERIALIZE_NONE, 0, TENON_DOMAIN_HOST_VISIBLE},
};

class Stream;

struct Device {
  Device(Provider& provider, std::string_view stable_id);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void domains(const DomainSink& sink) const;
  Allocation allocate(uint32_t domain, uint64_t bytes, const Stream*);
  void free(tenon_buffer* buffer, const Stream*);
  void copy(const tenon_location& to, const tenon_location& from, uint64_t bytes, Stream* stream);
  void* map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes);
  void unmap(tenon_buffer* buffer, const void* address);
  /// Throws if the device or the process is marked as lost.
  void check_lost() const;

  Provider& provider;
  const DeviceKind& kind;
  Memory memory;
  std::atomic<int> running{0};  // Runs in progress
  std::atomic<bool> lost{false};
};

/// Described in manifest.json.in.
struct FakeOptions {
  std::string ops;
  std::string fault = "none";
  std::string fault_op, wrong_op;
  int64_t fault_after = 0;
  int64_t fault_times = 0;
  int64_t latency_us = 200;
  int64_t max_nodes = 0;
  bool static_claims = false;
  bool needs_values = false;
};

struct Instance {
  Instance(Device& device, const tenon_instance_params& params);
  void offer(const tenon_graph* graph, const tenon_claim_sink* sink);
  /// Throws if `what` is the requested fault and enough calls have passed before.
  void maybe_fail(const char* what);
  /// If `what` is the requested fault: waits until `cancel` is set and throws CANCELLED, or INTERNAL after 20 s.
  void maybe_wait(const char* what, const uint32_t* cancel) const;
  Device& device;
  FakeOptions options;
  bool rounds_to_bf16;            // precision.default = "bf16"
  std::atomic<int64_t> calls{0};  // calls of the place of the fault
};

}  // namespace accelerator
