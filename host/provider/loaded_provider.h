// A provider library that is mapped, negotiated and created: the owner of its tables and of the devices
// opened in it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "host/provider/device_info.h"
#include "host/provider/host_provider.h"
#include "host/provider/manifest.h"
#include "tenon/ep.h"

namespace tenon::provider {

/// Where a provider build is in its life.
enum class State {
  kDiscovered,  // its manifest was found
  kScanned,     // all checks passed, the scan included
  kActive,      // loaded
  kDraining,    // loaded, and not what its id stands for now: sessions still use it, new ones get another
  kQuiesced,    // no handle, thread or callback left
  kClosed,      // unloaded
  kRetired,     // nobody uses it, but it stays mapped because its manifest does not allow unloading
};

std::string_view state_name(State state);

/// A copy of tenon_domain_info.
struct DomainInfo {
  uint32_t id = 0;
  uint32_t flags = 0;  // TENON_DOMAIN_HOST_VISIBLE | TENON_DOMAIN_ADDRESSABLE
  uint32_t alignment = 0;
  uint64_t max_buffer_bytes = 0;
  std::string name;
};

class LoadedProvider;
struct Build;
struct LoadContext;

/// A device that is open. Opened once per provider build however many sessions ask; closed with the last
/// reference. Immutable but for being lost, hence thread-safe; keeps its provider loaded.
class Device {
 public:
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  tenon_device* handle() const { return handle_; }
  const DeviceInfo& info() const { return info_; }
  /// The domains the device states, beside TENON_DOMAIN_HOST.
  const std::vector<DomainInfo>& domains() const { return domains_; }
  const std::shared_ptr<LoadedProvider>& provider() const { return provider_; }
  /// It reported that it was lost: whoever opens the device from now on gets a new one.
  void mark_lost() const { lost_.store(true, std::memory_order_release); }
  bool is_lost() const { return lost_.load(std::memory_order_acquire); }

 private:
  friend class LoadedProvider;
  Device() = default;

  std::shared_ptr<LoadedProvider> provider_;
  tenon_device* handle_ = nullptr;
  DeviceInfo info_;
  std::vector<DomainInfo> domains_;
  mutable std::atomic<bool> lost_{false};
};

/// Thread-safe. Whoever uses anything of the provider (table, device, instance, program, error text not yet
/// copied) keeps a reference to it. With the last one the provider is destroyed, and the library unmapped if
/// its manifest says that it is unloadable; else it stays mapped and the next load of the same build takes it
/// up again.
class LoadedProvider : public std::enable_shared_from_this<LoadedProvider> {
 public:
  ~LoadedProvider();
  LoadedProvider(const LoadedProvider&) = delete;
  LoadedProvider& operator=(const LoadedProvider&) = delete;

  const std::string& id() const { return manifest_->id; }
  /// "cuda 1.4.0".
  std::string label() const;
  const Manifest& manifest() const { return *manifest_; }
  /// The provider's table, zero-extended to the size this host knows: a slot the provider lacks is NULL.
  const tenon_ep_api& api() const { return api_; }
  tenon_provider* handle() const { return handle_; }
  /// Counts the provider builds loaded in this process, from 1. Two versions of one id have different
  /// numbers.
  uint64_t generation() const;
  /// The agreed minor of the ABI.
  uint32_t abi_minor() const { return abi_minor_; }
  const std::string& build_id() const { return build_id_; }
  const std::string& library_path() const;
  const std::string& library_sha256() const { return manifest_->file.sha256; }
  State state() const;

  /// Enumerates once and keeps the answer. May be empty.
  Result<std::vector<DeviceInfo>> devices();
  /// Opens "gpu:0", "gpu" (the first of the kind), a stable id, or "" (the first device); the same device
  /// again while it is open and not lost. Errors: NOT_FOUND with the devices there are; the provider's own error.
  Result<std::shared_ptr<Device>> open_device(std::string_view selector);

 private:
  friend class Device;
  friend class ProviderRegistry;
  friend Result<std::shared_ptr<LoadedProvider>> load_provider(std::shared_ptr<const Manifest> manifest,
                                                               const LoadContext& context);
  LoadedProvider() = default;

  static Result<std::shared_ptr<LoadedProvider>> make(std::shared_ptr<const Manifest> manifest,
                                                      const std::shared_ptr<Build>& build,
                                                      const LoadContext& context);
  Result<std::vector<DeviceInfo>> enumerate();
  Result<std::shared_ptr<Device>> open(const DeviceInfo& info, std::shared_ptr<Device>* out_lost);

  std::shared_ptr<const Manifest> manifest_;
  std::shared_ptr<Build> build_;
  tenon_ep_api api_{};
  tenon_provider* handle_ = nullptr;
  tenon_host_provider host_;
  uint32_t abi_minor_ = 0;
  std::string build_id_;

  std::mutex mutex_;  // guards what follows, and calls of slots tagged INIT
  bool enumerated_ = false;
  std::vector<DeviceInfo> devices_;
  std::map<std::string, std::weak_ptr<Device>> open_;  // by stable id
};

/// The provider's error as a Status: its code and message, with the provider's label and its `where`.
Status provider_status(const LoadedProvider& provider, tenon_status code, const tenon_error& error);

}  // namespace tenon::provider
