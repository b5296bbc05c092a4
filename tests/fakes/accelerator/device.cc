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

}  // namespace

void Provider::devices(const DeviceSink& sink) const {
  for (const DeviceKind& kind : kDevices) {
    sink.add({.kind = TENON_DEVICE_NPU,
              .stable_id = kind.stable_id,
              .name = kind.name,
              .vendor = "Tenon tests",
              .serialize = kind.serialize});
  }
}

void Provider::quiesce(int64_t) const {
  require(devices_open == 0, TENON_FAILED_PRECONDITION, "a device is still open");
}

Device::Device(Provider& of, std::string_view stable_id)
    : provider(of), kind(kind_of(stable_id)), memory(kind.max_buffer_bytes) {
  check_lost();
  ++provider.devices_open;
}

Device::~Device() {
  if (const size_t left = memory.buffers(); left != 0)
    log(provider.host, TENON_LOG_ERROR, "LEAK", left, " buffers were not freed");
  --provider.devices_open;
}

void Device::domains(const DomainSink& sink) const {
  sink.add({.id = kDeviceDomain,
            .flags = kind.domain_flags,
            .alignment = kAlignment,
            .max_buffer_bytes = kind.max_buffer_bytes,
            .name = "device memory"});
}

Allocation Device::allocate(uint32_t domain, uint64_t bytes, const Stream*) {
  require(domain == kDeviceDomain, TENON_INVALID_ARGUMENT, "there is no memory domain ", domain);
  return {.buffer = memory.allocate(bytes)};
}

void Device::free(tenon_buffer* buffer, const Stream*) { memory.free(buffer); }

void Device::copy(const tenon_location& to, const tenon_location& from, uint64_t bytes, Stream* stream) {
  auto work = [this, to, from, bytes] {
    Access access(memory);
    const auto open = [&](const tenon_location& place) {
      return place.domain == TENON_DOMAIN_HOST ? static_cast<std::byte*>(place.data)
                                               : access.open(place.buffer, place.byte_offset, bytes);
    };
    std::memmove(open(to), open(from), bytes);
  };
  check_lost();
  Stream::submit(stream, work);
}

void* Device::map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes) {
  require(kind.domain_flags == TENON_DOMAIN_HOST_VISIBLE, TENON_INTERNAL,
          "the host maps memory that is not host-visible");
  return memory.open(buffer, byte_offset, bytes);
}

void Device::unmap(tenon_buffer* buffer, const void*) { memory.close(buffer); }

Instance::Instance(Device& on, const tenon_instance_params& params)
    : device(on), rounds_to_bf16(params.precision == TENON_PRECISION_BF16) {
  const Options given(params);
  options.ops = given.text("ops", options.ops);
  options.fault = given.text("fault", options.fault);
  options.fault_op = given.text("fault_op", options.fault_op);
  options.wrong_op = given.text("wrong_op", options.wrong_op);
  options.fault_after = given.integer("fault_after", options.fault_after);
  options.fault_times = given.integer("fault_times", options.fault_times);
  options.latency_us = given.integer("latency_us", options.latency_us);
  options.max_nodes = given.integer("max_nodes", options.max_nodes);
  options.static_claims = given.flag("static_claims", options.static_claims);
  options.needs_values = given.flag("needs_values", options.needs_values);
  maybe_fail("instance");
}

void Instance::maybe_fail(const char* what) {
  if (options.fault != what || calls++ < options.fault_after) return;
  if (options.fault_times != 0 && device.provider.faults++ >= options.fault_times) return;
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
