// A provider whose library is mapped, negotiated and created. It owns its table and the devices opened in it.
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
#include "host/provider/domain_list.h"
#include "host/provider/host_provider.h"
#include "host/provider/manifest.h"
#include "tenon/ep.h"

namespace tenon::provider {

/// The states in the life of a provider build.
enum class State {
  kDiscovered,  // its manifest was found
  kScanned,     // all checks passed, including the scan
  kActive,      // loaded
  kDraining,    // loaded and used by sessions, but its id now selects another build for new sessions
  kQuiesced,    // no handle, thread or callback is left
  kClosed,      // unloaded
  kRetired,     // unused, but stays mapped because its manifest does not allow unloading
};

std::string_view state_name(State state);

class LoadedProvider;
struct Build;
struct LoadInputs;

/// An open device. It is opened once per provider build, whatever the number of sessions, and closed with the last
/// reference. Immutable except for is_lost(), so thread-safe. Keeps its provider loaded.
class Device {
 public:
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  tenon_device* handle() const { return handle_; }
  const DeviceInfo& info() const { return info_; }
  /// The domains that the device declares; TENON_DOMAIN_HOST is not among them.
  const std::vector<DomainInfo>& domains() const { return domains_; }
  const std::shared_ptr<LoadedProvider>& provider() const { return provider_; }
  /// Call this when the device reports that it is lost. The next open_device() then opens a new one.
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

/// Thread-safe. Keep a reference while using anything of the provider: its table, a device, instance or program, or an
/// error text that is not copied. The last reference destroys the provider. The library is then unmapped if its
/// manifest says that it is unloadable. Otherwise it stays mapped, and the next load of the same build uses it again.
class LoadedProvider : public std::enable_shared_from_this<LoadedProvider> {
 public:
  ~LoadedProvider();
  LoadedProvider(const LoadedProvider&) = delete;
  LoadedProvider& operator=(const LoadedProvider&) = delete;

  /// Calls provider_destroy.
  using OwnedHandle = std::unique_ptr<tenon_provider, decltype(tenon_ep_api::provider_destroy)>;
  /// A provider that is a part of this library: nothing is loaded, and `handle` is its object.
  static std::shared_ptr<LoadedProvider> built_in(std::shared_ptr<const Manifest> manifest,
                                                  const tenon_ep_api& api, OwnedHandle handle);
  /// Its errors carry the host's own kinds, and it has no file.
  bool is_built_in() const { return generation() == 0; }

  const std::string& id() const { return manifest_->id; }
  /// "cuda 1.4.0".
  std::string label() const;
  const Manifest& manifest() const { return *manifest_; }
  /// The provider's table, extended with zeros to the size that this host knows, so that a missing function is NULL.
  const tenon_ep_api& api() const { return api_; }
  tenon_provider* handle() const { return handle_; }
  /// Numbers the provider builds that this process loaded, from 1. Two versions of one id have different numbers. 0: built in.
  uint64_t generation() const;
  /// The ABI minor that both sides agreed on, the smaller of the two.
  uint32_t abi_minor() const { return abi_minor_; }
  const std::string& build_id() const { return build_id_; }
  const std::string& library_path() const;
  const std::string& library_sha256() const { return manifest_->file.sha256; }
  State state() const;

  /// Enumerates the devices once and keeps the list. It may be empty.
  Result<std::vector<DeviceInfo>> devices();
  /// Opens "gpu:0", "gpu" (the first of that kind), a stable id, or "" (the first device). Returns the same device
  /// while it is open and not lost. Errors: NOT_FOUND, with the devices that exist; the provider's own error.
  Result<std::shared_ptr<Device>> open_device(std::string_view selector);

 private:
  friend class Device;
  friend class ProviderRegistry;
  friend Result<std::shared_ptr<LoadedProvider>> load_provider(
      const std::shared_ptr<const Manifest>& manifest, const LoadInputs& inputs);
  LoadedProvider() = default;

  static Result<std::shared_ptr<LoadedProvider>> make(const std::shared_ptr<const Manifest>& manifest,
                                                      const std::shared_ptr<Build>& build,
                                                      const LoadInputs& inputs);
  Result<std::vector<DeviceInfo>> enumerate();
  Result<std::shared_ptr<Device>> open(const DeviceInfo& info, std::shared_ptr<Device>* out_lost);

  std::shared_ptr<const Manifest> manifest_;
  std::shared_ptr<Build> build_;
  tenon_ep_api api_{};
  tenon_provider* handle_ = nullptr;
  tenon_host_provider host_;
  uint32_t abi_minor_ = 0;
  std::string build_id_;

  std::mutex mutex_;  // guards the members below, and calls of functions tagged INIT
  bool enumerated_ = false;
  std::vector<DeviceInfo> devices_;
  std::map<std::string, std::weak_ptr<Device>> open_;  // by stable id
};

/// The provider's error as a Status: its code and message, in the context of the provider's label and `where`.
Status provider_status(const LoadedProvider& provider, tenon_status code, const tenon_error& error);

}  // namespace tenon::provider
