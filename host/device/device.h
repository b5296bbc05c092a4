// Devices of the runtime: memory domains with process-wide numbers, buffers, copies, and the lock for devices that
// run one thing at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "host/base/error_struct.h"
#include "host/provider/loaded_provider.h"
#include "host/services/memory_budget.h"
#include "tenon/ep.h"

namespace tenon::runtime {

class Device;

/// One kind of memory. Each domain of an open device has one object, and the host has one. Compare by address or
/// number. Lives as long as its device. Immutable.
struct MemoryDomain {
  uint32_t number = 0;  // unique in the process; 0 is the host; not reused after a device closes
  uint32_t local_id = TENON_DOMAIN_HOST;  // the provider's id of the domain
  Device* device = nullptr;               // null for the host
  uint64_t alignment = 64;                // of every tensor, in bytes; a power of two
  uint64_t max_buffer_bytes = 0;          // 0 = no limit
  bool host_visible = true;
  bool addressable = true;  // tensors have an address in `data`
  std::string name = "host";

  bool is_host() const { return device == nullptr; }
};

/// Plain host memory.
const MemoryDomain& host_domain();

/// A block of memory in a domain. Move-only. The destructor frees it without a stream, so work on it must be done.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Uninitialised memory with the domain's alignment. Zero bytes give an empty buffer. OUT_OF_MEMORY names the
  /// domain. The buffer keeps the device open. `stream` is null or belongs to an instance of that device.
  static Result<Buffer> allocate(const MemoryDomain& domain, uint64_t bytes, tenon_stream* stream = nullptr);

  explicit operator bool() const { return domain_ != nullptr; }
  const MemoryDomain* domain() const { return domain_; }
  uint64_t bytes() const { return bytes_; }
  /// Null for host memory.
  tenon_buffer* handle() const { return handle_; }
  /// Null when the domain is not addressable.
  std::byte* address() const { return static_cast<std::byte*>(address_); }
  /// Sets the descriptor's domain, buffer, offset and, if the domain is addressable, its address.
  void place(tenon_tensor* tensor, uint64_t byte_offset) const;
  tenon_location location(uint64_t byte_offset) const;
  void reset();
  void swap(Buffer& other) noexcept;

 private:
  const MemoryDomain* domain_ = nullptr;
  std::shared_ptr<Device> device_;
  tenon_buffer* handle_ = nullptr;
  void* address_ = nullptr;
  uint64_t bytes_ = 0;
  MemoryCharge charge_;  // for host memory
};

/// An open device. A process has one object per (provider build, device); its last user closes it. Thread-safe.
class Device : public std::enable_shared_from_this<Device> {
 public:
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// `selector` as in the config: "gpu:0", "gpu", a stable id, or "" for the first device.
  static Result<std::shared_ptr<Device>> open(const std::shared_ptr<provider::LoadedProvider>& provider,
                                              std::string_view selector);

  /// "cuda/gpu:0".
  const std::string& id() const { return id_; }
  const provider::DeviceInfo& info() const { return device_->info(); }
  const std::shared_ptr<provider::LoadedProvider>& provider() const { return device_->provider(); }
  const tenon_ep_api& api() const { return device_->provider()->api(); }
  tenon_device* handle() const { return device_->handle(); }
  uint32_t serialize() const { return device_->info().serialize; }
  /// Runs hold it when serialize() is TENON_SERIALIZE_DEVICE.
  std::mutex& run_mutex() { return run_mutex_; }

  const std::vector<std::unique_ptr<MemoryDomain>>& domains() const { return domains_; }
  /// The domain with the provider's id, TENON_DOMAIN_HOST included; null when the provider declared none.
  const MemoryDomain* find_domain(uint32_t local_id) const;

  /// Copies on this device, or between it and host memory. With a stream the call may return before the copy is done.
  Status copy(const tenon_location& destination, const tenon_location& source, uint64_t bytes,
              tenon_stream* stream);
  /// Makes bytes of a buffer in a host-visible domain accessible to the host until unmap(). Work on them must be done.
  bool can_map(const MemoryDomain& domain) const { return domain.host_visible && api().map != nullptr; }
  Result<void*> map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes);
  void unmap(tenon_buffer* buffer, void* address) { api().unmap(handle(), buffer, address); }
  /// A Status for a failed call of this provider that names this device. A device that reports its loss is not
  /// shared any more.
  Status status(tenon_status code, const tenon_error& error) const;
  /// The same for a Status that was made from such a call.
  Status blame(Status status) const;

 private:
  explicit Device(std::shared_ptr<provider::Device> device);

  std::shared_ptr<provider::Device> device_;
  std::string id_;
  std::vector<std::unique_ptr<MemoryDomain>> domains_;
  std::mutex run_mutex_;
};

}  // namespace tenon::runtime
