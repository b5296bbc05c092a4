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
  bool mappable = false;                  // Device::map works
  bool host_address = false;              // threads of the host use the address of a buffer
  bool device_address = false;            // a buffer has an address for the device
  bool staging = false;                   // the fastest host end of copies to and from the device
  std::string name = "host";

  bool is_host() const { return device == nullptr; }
  /// The host reads and writes the bytes at a buffer's address.
  bool host_can_access() const { return is_host() || host_address; }
  /// Buffers have an address, and tensors carry it in `data`.
  bool has_address() const { return host_can_access() || device_address; }
};

/// Plain host memory.
const MemoryDomain& host_domain();

/// What happens when a device has no memory left. Only `allocate` of the provider is called with kFail.
enum class WhenFull : uint8_t { kFreeIdle, kFail };

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

  /// Uninitialised memory with the domain's alignment. Zero bytes give an empty buffer. The buffer keeps the device
  /// open. `stream` is null or belongs to an instance of that device; work that is enqueued on it later may use the
  /// memory. When the device has no memory left, idle memory of all sessions (IdleMemory) and of the provider is freed,
  /// and the device is asked once more, unless `when_full` forbids it. OUT_OF_MEMORY then names the domain, the bytes, and what the device has left.
  static Result<Buffer> allocate(const MemoryDomain& domain, uint64_t bytes, tenon_stream* stream = nullptr,
                                 WhenFull when_full = WhenFull::kFreeIdle);

  explicit operator bool() const { return domain_ != nullptr; }
  const MemoryDomain* domain() const { return domain_; }
  uint64_t bytes() const { return bytes_; }
  /// Null for host memory.
  tenon_buffer* handle() const { return handle_; }
  /// Null when the domain gives no address. The host uses it only if the domain's host_can_access().
  std::byte* address() const { return static_cast<std::byte*>(address_); }
  /// Sets the descriptor's domain, buffer, offset and, if the domain gives one, its address.
  void place(tenon_tensor* tensor, uint64_t byte_offset) const;
  tenon_location location(uint64_t byte_offset) const;
  void reset();
  void swap(Buffer& other) noexcept;

 private:
  Status allocate_on_device(const MemoryDomain& domain, uint64_t bytes, tenon_stream* stream,
                            WhenFull when_full);

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
  /// Numbers the devices that this process opened, from 1. A device that is opened again has a new number.
  uint64_t generation() const { return generation_; }
  uint32_t serialize() const { return device_->info().serialize; }
  /// A call has reported its loss. What its memory held is lost with it.
  bool is_lost() const { return device_->is_lost(); }
  /// Runs hold it when serialize() is TENON_SERIALIZE_DEVICE.
  std::mutex& run_mutex() { return run_mutex_; }

  const std::vector<std::unique_ptr<MemoryDomain>>& domains() const { return domains_; }
  /// The domain with the provider's id, TENON_DOMAIN_HOST included; null when the provider declared none.
  const MemoryDomain* find_domain(uint32_t local_id) const;
  /// The domain with STAGING, or null.
  const MemoryDomain* staging() const { return staging_; }

  /// What the device has now, for all processes. UNIMPLEMENTED when the provider cannot say.
  Result<tenon_memory_info> memory() const;
  /// Makes the provider give back memory that it can make again. Does nothing when the provider keeps none.
  Status trim();

  /// Copies on this device, between it and host memory, or from another device of this provider, which `source` names
  /// (UNIMPLEMENTED: the provider has no such copy). With a stream the call may return before the copy is done.
  /// `work_id`: what Stream::times() calls the copy.
  Status copy(const tenon_location& destination, const tenon_location& source, uint64_t bytes,
              tenon_stream* stream, uint64_t work_id = 0);
  /// Makes bytes of a buffer in a mappable domain accessible to the host until unmap(). Work on them must be done.
  /// `flags`: TENON_MAP_x, what the host does with the bytes.
  bool can_map(const MemoryDomain& domain) const { return domain.mappable && api().map != nullptr; }
  Result<void*> map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes, uint32_t flags);
  void unmap(tenon_buffer* buffer, void* address) { api().unmap(handle(), buffer, address); }
  /// The error is of work that an earlier call enqueued: its `where` names that work, and the caller's place does not
  /// apply.
  static bool is_late(const tenon_error& error) { return (error.flags & TENON_ERROR_ASYNC) != 0; }
  /// A Status for a failed call of this provider that names this device. A device that reports its loss is not
  /// shared any more. For a late error the place is the provider's `where`, in the context of the provider's label.
  Status status(tenon_status code, const tenon_error& error) const;
  /// The same for a Status that was made from such a call.
  Status blame(Status status) const;

 private:
  explicit Device(std::shared_ptr<provider::Device> device);

  std::shared_ptr<provider::Device> device_;
  std::string id_;
  uint64_t generation_;
  std::vector<std::unique_ptr<MemoryDomain>> domains_;
  const MemoryDomain* staging_ = nullptr;
  std::mutex run_mutex_;
};

}  // namespace tenon::runtime
