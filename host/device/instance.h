// An instance of a provider: one device with options, asked for capabilities, compiling and running. With its
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

/// What a session wants of an instance, beside its options.
struct InstanceSettings {
  config::Precision precision = config::Precision::kExact;
  bool deterministic = false;
  uint64_t memory_limit = 0;  // bytes; 0: none
};

/// A queue of work on an instance. Move-only. The destructor waits for nothing: work on it must be done.
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
  /// Submits what was enqueued.
  Status flush();
  /// Work enqueued from now on begins after `event`, which is of the same provider.
  Status wait(tenon_event* event);
  void reset();
  void swap(Stream& other) noexcept;

 private:
  friend class Instance;
  std::shared_ptr<Instance> instance_;
  tenon_stream* handle_ = nullptr;
};

/// A point in a stream. Move-only. May be recorded again after it was waited for.
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
  /// Blocks until all work recorded before is done, and reports its first error. `timeout_ns` < 0: no limit.
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

  /// `options` as validate_options gives them.
  static Result<std::shared_ptr<Instance>> create(std::shared_ptr<Device> device,
                                                  std::vector<config::OptionSetting> options,
                                                  const InstanceSettings& settings);

  /// Another one with the same options on the same device, which is opened again if it was lost.
  Result<std::shared_ptr<Instance>> renew() const;

  /// "cuda/gpu:0".
  const std::string& id() const { return device_->id(); }
  /// "cuda".
  const std::string& provider_id() const { return device_->provider()->id(); }
  /// The provider's manifest says that it may stand last and run every operator.
  bool completes() const { return device_->provider()->manifest().traits.completes; }
  /// The same bits in every Run, whatever the threads.
  bool is_deterministic() const { return settings_.deterministic; }
  Device& device() const { return *device_; }
  const tenon_ep_api& api() const { return device_->api(); }
  tenon_instance* handle() const { return handle_; }
  bool has_streams() const { return api().stream_create != nullptr; }
  bool has_bind() const { return api().bind != nullptr; }

  Result<Stream> make_stream();
  Result<Event> make_event();
  /// A failed call of this provider as a Status: code, message, place, with the provider's label.
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
