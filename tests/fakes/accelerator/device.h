// Provider, devices and instances of the fake accelerator.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "counters.h"
#include "memory.h"

namespace accelerator {

struct Provider {
  explicit Provider(const tenon_provider_params& params) : host(params.host) {}
  void devices(const DeviceSink& sink) const;
  /// Throws if a device is still open.
  void quiesce(int64_t timeout_ns) const;
  /// The file at `path`, mapped until the provider ends.
  Counters& counters_at(const std::string& path);

  tenon_host_provider* host;
  std::atomic<int> devices_open{0};
  std::atomic<bool> lost{false};
  std::atomic<int64_t> faults{0};  // injected by all instances so far

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<CounterFile>> files_;
};

struct DeviceKind {
  const char* stable_id;
  const char* name;
  uint32_t serialize;
  uint64_t max_buffer_bytes;
  bool maps;          // its memory can be mapped; otherwise it has staging memory
  bool has_peers;     // copies to and from other devices that have peers
  uint32_t pci_slot;  // 0: not on a PCI bus
};
/// Three devices with different demands and offers to the host.
inline constexpr DeviceKind kDevices[] = {
    {"fake-0", "Fake accelerator 0", TENON_SERIALIZE_BINDING, 0, false, true, 1},
    {"fake-1", "Fake accelerator 1", TENON_SERIALIZE_DEVICE, 1 << 20, false, true, 2},
    {"fake-2", "Fake accelerator 2", TENON_SERIALIZE_NONE, 0, true, false, 0},
};

class Stream;

struct Device {
  Device(Provider& provider, std::string_view stable_id);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void domains(const DomainSink& sink) const;
  tenon_memory_info memory() const { return bytes.info(); }
  void trim();
  Allocation allocate(uint32_t domain, uint64_t size, const Stream*);
  void free(tenon_buffer* buffer, Stream* stream);
  void copy(const tenon_location& to, const tenon_location& from, uint64_t size, Stream* stream,
            uint64_t work_id);
  void* map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t size, uint32_t flags);
  void unmap(tenon_buffer* buffer, void* address);
  /// Throws if the device or the process is marked as lost.
  void check_lost() const;
  /// Never NULL: a struct of its own until an instance names a file.
  Counters& counters() const { return *counters_.load(std::memory_order_acquire); }
  void count_in(Counters& counters) { counters_.store(&counters, std::memory_order_release); }

  Provider& provider;
  const DeviceKind& kind;
  Memory bytes;
  std::atomic<int> running{0};  // Runs in progress
  std::atomic<bool> lost{false};

 private:
  mutable Counters uncounted_;
  std::atomic<Counters*> counters_{&uncounted_};
};

/// Checks that a device with TENON_SERIALIZE_DEVICE gets one Run at a time.
class OneAtATime {
 public:
  explicit OneAtATime(Device& device);
  ~OneAtATime() { --device_.running; }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;

 private:
  Device& device_;
};

/// Described in manifest.json.in.
struct FakeOptions {
  std::string ops;
  std::string fault = "none";
  std::string fault_op, wrong_op;
  std::string counters;
  int64_t fault_after = 0;
  int64_t fault_times = 0;
  int64_t latency_us = 200;
  int64_t max_nodes = 0;
  int64_t memory_bytes = 0;
  bool static_claims = false;
  bool needs_values = false;
  bool records = true;
};

struct Instance {
  Instance(Device& device, const tenon_instance_params& params);
  void offer(const tenon_graph* graph, const tenon_claim_sink* sink);
  /// True if `what` is the requested fault and enough calls have passed before.
  bool is_due(const char* what);
  /// Throws if `what` is due.
  void maybe_fail(const char* what);
  /// If `what` is the requested fault: waits until `cancel` is set and throws CANCELLED, or INTERNAL after 20 s.
  void maybe_wait(const char* what, const uint32_t* cancel) const;
  Device& device;
  FakeOptions options;
  bool rounds_to_bf16;            // precision.default = "bf16"
  std::atomic<int64_t> calls{0};  // calls of the place of the fault
};

}  // namespace accelerator
