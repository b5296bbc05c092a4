#include "device.h"

#include <chrono>
#include <thread>

#include "stream.h"

namespace accelerator {
namespace {

const DeviceKind& kind_of(std::string_view stable_id) {
  for (const DeviceKind& kind : kDevices) {
    if (stable_id == kind.stable_id) return kind;
  }
  fail(TENON_NOT_FOUND, "there is no device '", stable_id, "'");
}

/// One end of a copy.
struct Place {
  Device* device;
  tenon_location at;

  bool is_plain() const { return at.domain == TENON_DOMAIN_HOST; }
  bool is_on_host() const { return is_plain() || at.domain == kStagingDomain; }
  std::string name() const {
    if (is_plain()) return "host memory";
    return cat(is_on_host() ? "staging memory of " : "", device->kind.name);
  }
  std::byte* open(Access& access, uint64_t size) const {
    if (!is_plain()) return access.open(device->bytes, at.buffer, at.byte_offset, size);
    device->bytes.check_host_bytes(at.data, size);
    return static_cast<std::byte*>(at.data);
  }
};

void count(Counters& counters, const Place& to, const Place& from, uint64_t size) {
  const bool peer = !to.is_on_host() && !from.is_on_host() && to.device != from.device;
  if (to.is_on_host()) {
    ++(from.is_on_host() ? counters.copies_host : counters.copies_to_host);
  } else if (from.is_on_host()) {
    ++counters.copies_to_device;
  } else {
    ++(peer ? counters.copies_peer : counters.copies_within);
  }
  counters.bytes_copied += size;
  if (peer) counters.bytes_peer += size;
}

}  // namespace

void Provider::devices(const DeviceSink& sink) const {
  for (const DeviceKind& kind : kDevices) {
    DeviceSpec spec{.kind = TENON_DEVICE_NPU,
                    .stable_id = kind.stable_id,
                    .name = kind.name,
                    .vendor = "Tenon tests",
                    .memory_bytes = kDeviceBytes,
                    .serialize = kind.serialize,
                    .driver_version = "1.2.3"};
    if (kind.pci_slot != 0) spec.pci = PciAddress{.bus = 0xFA, .device = kind.pci_slot};
    spec.uuid.emplace();
    const std::string_view id = kind.stable_id;
    std::copy(id.begin(), id.end(), spec.uuid->begin());
    sink.add(spec);
  }
}

void Provider::quiesce(int64_t) const {
  require(devices_open == 0, TENON_FAILED_PRECONDITION, "a device is still open");
}

Counters& Provider::counters_at(const std::string& path) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<CounterFile>& file = files_[path];
  if (file == nullptr) file = std::make_unique<CounterFile>(path);
  return file->counters();
}

Device::Device(Provider& of, std::string_view stable_id)
    : provider(of), kind(kind_of(stable_id)), bytes(kind.max_buffer_bytes) {
  check_lost();
  ++provider.devices_open;
}

Device::~Device() {
  if (const size_t left = bytes.buffers(); left != 0)
    log(provider.host, TENON_LOG_ERROR, "LEAK", left, " buffers were not freed");
  --provider.devices_open;
}

void Device::domains(const DomainSink& sink) const {
  sink.add({.id = kDeviceDomain,
            .flags = kind.maps ? uint32_t{TENON_DOMAIN_MAPPABLE} : 0u,
            .alignment = kAlignment,
            .max_buffer_bytes = kind.max_buffer_bytes,
            .name = "device memory"});
  if (kind.maps) return;
  sink.add({.id = kStagingDomain,
            .flags = TENON_DOMAIN_HOST_ADDRESS | TENON_DOMAIN_STAGING,
            .alignment = kAlignment,
            .name = "staging memory"});
}

void Device::trim() {
  ++counters().trims;
  bytes.trim();
}

Allocation Device::allocate(uint32_t domain, uint64_t size, const Stream*) {
  const bool is_staging = domain == kStagingDomain && !kind.maps;
  require(domain == kDeviceDomain || is_staging, TENON_INVALID_ARGUMENT, "there is no memory domain ",
          domain);
  Allocation out{.buffer = bytes.allocate(domain, size)};
  if (is_staging) out.address = out.buffer;
  ++counters().allocations;
  return out;
}

void Device::free(tenon_buffer* buffer, Stream* stream) {
  // The end of the work frees, so also when the stream drops it.
  std::shared_ptr<void> last(buffer, [this](void* freed) {
    bytes.free(static_cast<tenon_buffer*>(freed));
    ++counters().frees;
  });
  if (stream != nullptr) stream->enqueue([last](Stream*) {});
}

void Device::copy(const tenon_location& to, const tenon_location& from, uint64_t size, Stream* stream,
                  uint64_t work_id) {
  const InCall call(counters());
  const auto place = [this](const tenon_location& at) {
    require(at.reserved == 0, TENON_INVALID_ARGUMENT, "the host sets a reserved word of a location");
    const bool elsewhere = at.device != nullptr && at.domain != TENON_DOMAIN_HOST;
    return Place{elsewhere ? reinterpret_cast<Device*>(at.device) : this, at};
  };
  const Place target = place(to), source = place(from);
  require(target.device == this, TENON_INVALID_ARGUMENT, "the host copies to ", target.name(), " through ",
          kind.name);
  check_lost();
  if (source.device != this) {
    require(kind.has_peers && source.device->kind.has_peers, TENON_UNIMPLEMENTED, "no copies from ",
            source.name(), " to ", target.name());
    source.device->check_lost();
  }
  Stream::submit(stream, [this, target, source, size, work_id](Stream* on) {
    const std::string name = cat("a copy of ", size, " bytes from ", source.name(), " to ", target.name());
    const Stream::Timer timer(on, name, work_id);
    try {
      Access access;
      std::byte* begin = target.open(access, size);
      std::memmove(begin, source.open(access, size), size);
    } catch (Error& error) {
      if (on != nullptr && error.where.empty()) error.where = name;
      throw;
    }
    count(counters(), target, source, size);
  });
}

void* Device::map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t size, uint32_t flags) {
  require(kind.maps, TENON_INTERNAL, "the host maps memory that is not mappable");
  return bytes.map(buffer, byte_offset, size, flags);
}

void Device::unmap(tenon_buffer* buffer, void* address) {
  if (!bytes.unmap(buffer, address))
    log(provider.host, TENON_LOG_ERROR, "UNMAP", "the host unmaps an address that is not mapped");
}

OneAtATime::OneAtATime(Device& device) : device_(device) {
  const bool alone = ++device_.running == 1;
  if (alone || device_.kind.serialize != TENON_SERIALIZE_DEVICE) return;
  --device_.running;
  fail(TENON_INTERNAL, "the host runs twice at once on a device that asks for one Run at a time");
}

Instance::Instance(Device& on, const tenon_instance_params& params)
    : device(on), rounds_to_bf16(params.precision == TENON_PRECISION_BF16) {
  const Options given(params);
  options.ops = given.text("ops", options.ops);
  options.fault = given.text("fault", options.fault);
  options.fault_op = given.text("fault_op", options.fault_op);
  options.wrong_op = given.text("wrong_op", options.wrong_op);
  options.counters = given.text("counters", options.counters);
  options.fault_after = given.integer("fault_after", options.fault_after);
  options.fault_times = given.integer("fault_times", options.fault_times);
  options.latency_us = given.integer("latency_us", options.latency_us);
  options.max_nodes = given.integer("max_nodes", options.max_nodes);
  options.memory_bytes = given.integer("memory_bytes", options.memory_bytes);
  options.static_claims = given.flag("static_claims", options.static_claims);
  options.needs_values = given.flag("needs_values", options.needs_values);
  options.records = given.text("record", "yes") == "yes";
  if (!options.counters.empty()) device.count_in(device.provider.counters_at(options.counters));
  if (options.memory_bytes != 0) device.bytes.set_total(static_cast<uint64_t>(options.memory_bytes));
  maybe_fail("instance");
}

bool Instance::is_due(const char* what) {
  if (options.fault != what || calls++ < options.fault_after) return false;
  return options.fault_times == 0 || device.provider.faults++ < options.fault_times;
}

void Instance::maybe_fail(const char* what) {
  if (!is_due(what)) return;
  if (options.fault == "memory") fail(TENON_RESOURCE_EXHAUSTED, "the injected fault '", what, "'");
  if (options.fault == "lost_process") {
    device.provider.lost = true;
  } else if (options.fault == "lost") {
    device.lost = true;
  } else {
    fail(TENON_INTERNAL, "the injected fault '", what, "'");
  }
  device.check_lost();
}

void Instance::maybe_wait(const char* what, const uint32_t* cancel) const {
  constexpr int kMostMilliseconds = 20'000;
  if (options.fault != what) return;
  for (int i = 0; i < kMostMilliseconds; ++i) {
    if (cancel != nullptr && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0)
      fail(TENON_CANCELLED, "cancelled");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  fail(TENON_INTERNAL, "'", what, "' was not cancelled");
}

void Device::check_lost() const {
  if (provider.lost) {
    throw Error{TENON_UNAVAILABLE, "the driver is lost", TENON_ERROR_DEVICE_LOST | TENON_ERROR_PROCESS_LOST};
  }
  if (lost) throw Error{TENON_UNAVAILABLE, "the device was lost", TENON_ERROR_DEVICE_LOST};
}

}  // namespace accelerator
