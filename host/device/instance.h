// An instance of a provider: one device with options. It answers capability queries, compiles and runs. Also its
// streams and events.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/config/config.h"
#include "host/config/options.h"
#include "host/device/device.h"
#include "host/device/host_services.h"
#include "tenon/ep.h"

namespace tenon::runtime {

class Instance;

/// What a session requires of an instance, besides options.
struct InstanceSettings {
  config::Precision precision = config::Precision::kExact;
  bool deterministic = false;
  uint64_t memory_limit = 0;  // bytes; 0 = no limit
};

/// A queue of work on an instance. Move-only. The destructor does not wait, so work on the stream must be done.
class Stream {
 public:
  Stream() = default;
  ~Stream() { reset(); }
  Stream(Stream&& other) noexcept { swap(other); }
  Stream& operator=(Stream&& other) noexcept {
    swap(other);
    return *this;
  }

  explicit operator bool() const { return handle_ != nullptr; }
  tenon_stream* handle() const { return handle_; }
  /// Submits the enqueued work.
  Status flush();
  /// Work that is enqueued from now on begins after `event`, which must be of the same provider.
  Status wait(tenon_event* event);
  void reset();
  void swap(Stream& other) noexcept;

 private:
  friend class Instance;
  std::shared_ptr<Instance> instance_;
  tenon_stream* handle_ = nullptr;
};

/// A point in a stream. Move-only. May be recorded again after a wait.
class Event {
 public:
  Event() = default;
  ~Event() { reset(); }
  Event(Event&& other) noexcept { swap(other); }
  Event& operator=(Event&& other) noexcept {
    swap(other);
    return *this;
  }

  explicit operator bool() const { return handle_ != nullptr; }
  tenon_event* handle() const { return handle_; }
  Status record(const Stream& stream);
  /// Blocks until the work before the recorded point is done, and reports its first error. `timeout_ns` < 0: no limit.
  Status wait(int64_t timeout_ns = -1);
  void reset();
  void swap(Event& other) noexcept;

 private:
  friend class Instance;
  std::shared_ptr<Instance> instance_;
  tenon_event* handle_ = nullptr;
};

/// Thread-safe. Keeps its device open and its provider loaded.
class Instance : public std::enable_shared_from_this<Instance> {
 public:
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// `options` is a result of validate_options.
  static Result<std::shared_ptr<Instance>> create(std::shared_ptr<Device> device,
                                                  std::vector<config::OptionSetting> options,
                                                  const InstanceSettings& settings);

  /// Makes another instance with the same options on the same device, which is opened again if it was lost.
  Result<std::shared_ptr<Instance>> renew() const;

  /// "cuda/gpu:0".
  const std::string& id() const { return device_->id(); }
  /// "cuda".
  const std::string& provider_id() const { return device_->provider()->id(); }
  /// True when the provider's manifest says that it may be last and run every operator.
  bool completes() const { return device_->provider()->manifest().traits.completes; }
  /// Every Run gives the same bits for any number of threads.
  bool is_deterministic() const { return settings_.deterministic; }
  Device& device() const { return *device_; }
  const tenon_ep_api& api() const { return device_->api(); }
  tenon_instance* handle() const { return handle_; }
  bool has_streams() const { return api().stream_create != nullptr; }
  bool has_bind() const { return api().bind != nullptr; }

  Result<Stream> make_stream();
  Result<Event> make_event();
  /// A Status for a failed call of this provider: its code, message and place, with the provider's label.
  Status status(tenon_status code, const tenon_error& error) const { return device_->status(code, error); }

 private:
  Instance() = default;

  std::shared_ptr<Device> device_;
  std::vector<config::OptionSetting> options_;
  InstanceSettings settings_;
  tenon_host_instance services_;
  tenon_instance* handle_ = nullptr;
};

}  // namespace tenon::runtime
