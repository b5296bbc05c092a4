// An open device: context, memory, compiled kernels, libraries.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "device_list.h"
#include "memory.h"
#include "source.h"
#include "tenon/ep/device/answers.hpp"
#include "variants.h"

namespace tenon::cuda {

class Convolutions;  // convolutions.h
class Products;      // products.h
class Stream;

class Provider {
 public:
  explicit Provider(const tenon_provider_params& params) : host_(params.host) {}
  void devices(const ep::DeviceSink& sink) const;
  tenon_host_provider* host() const { return host_; }

 private:
  tenon_host_provider* host_;
};

/// Properties by which kernels choose a variant. They are probed, never derived from a device's name.
struct Limits {
  int capability = 75;      // compute capability: 75 is 7.5
  uint32_t processors = 1;  // streaming multiprocessors
  uint32_t max_blocks_x = 2147483647, max_blocks_yz = 65535;
  bool pools = false;  // stream-ordered memory pools
};

/// An open device. Thread-safe.
class Device {
 public:
  Device(const Provider& provider, std::string_view stable_id);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void domains(const ep::DomainSink& sink) const;
  tenon_memory_info memory() const;
  void trim();
  ep::Allocation allocate(uint32_t domain, uint64_t bytes, const Stream* stream) const;
  void free(tenon_buffer* buffer, Stream* stream) const noexcept;
  void copy(const tenon_location& to, const tenon_location& from, uint64_t bytes, Stream* stream,
            uint64_t work_id) const;

  CUdevice id() const { return description_.device; }
  /// The primary context. Every entry makes it current with Current: the host's threads serve all devices.
  CUcontext context() const { return context_; }
  const Limits& limits() const { return limits_; }
  DeviceMemory& device_memory() const { return *device_memory_; }
  StagingMemory& staging_memory() const { return *staging_memory_; }
  Modules& modules() { return modules_; }
  /// Which variants are the fastest on this device.
  ep::MeasuredAnswers& answers() { return *answers_; }
  Products& products() { return *products_; }
  Convolutions& convolutions() { return *convolutions_; }
  /// Identifies driver and device, for what was compiled or measured for them. "sm_90/13000/NVIDIA H100".
  const std::string& build_key() const { return build_key_; }
  StreamHandle make_stream() const;
  /// Enqueues work with `enqueue(stream)` on a stream of the device, and waits for it. Takes one call at a time.
  void do_now(const std::function<void(CUstream)>& enqueue) const;
  /// Writes to the log of the host, each message once.
  void log_once(uint32_t level, const std::string& code, const std::string& message) const;

 private:
  Device(const Provider& provider, DeviceDescription description);
  void read_limits();
  void close() noexcept;

  tenon_host_provider* const host_;
  const DeviceDescription description_;
  Limits limits_;
  CUcontext context_ = nullptr;
  std::string build_key_;
  std::unique_ptr<DeviceMemory> device_memory_;
  std::unique_ptr<StagingMemory> staging_memory_;
  Modules modules_;
  std::unique_ptr<ep::MeasuredAnswers> answers_;
  std::unique_ptr<Products> products_;
  std::unique_ptr<Convolutions> convolutions_;
  StreamHandle own_stream_;  // for do_now()
  mutable std::mutex own_stream_mutex_;
  mutable std::mutex log_mutex_;
  mutable std::set<std::string> logged_;
};

}  // namespace tenon::cuda
