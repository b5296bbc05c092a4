// An instance of a provider: one device with options. It answers capability queries, compiles and runs. Also its
// streams and recordings.
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
  bool strict = false;        // sums as the operators define them
  uint64_t memory_limit = 0;  // bytes; 0 = no limit
  BlobLimits blob_limits;     // of what the provider keeps in the cache on disk
};

class Stream;

/// Work that a stream recorded, to be enqueued as one piece. Move-only. What it uses (addresses, bindings, prepared
/// objects) must outlive it, and its work must be done when it is run again or destroyed. Keeps the instance.
class Recording {
 public:
  Recording() = default;
  ~Recording() { reset(); }
  Recording(Recording&& other) noexcept { swap(other); }
  Recording& operator=(Recording&& other) noexcept {
    swap(other);
    return *this;
  }

  explicit operator bool() const { return handle_ != nullptr; }
  /// Enqueues the recorded work on `stream`, which belongs to the same instance.
  Status run(const Stream& stream);
  void reset();
  void swap(Recording& other) noexcept;

 private:
  friend class Stream;
  std::shared_ptr<Instance> instance_;
  tenon_recording* handle_ = nullptr;
};

/// When a piece of work ran on the device, on the clock of steady_now_ns().
struct WorkTime {
  std::string name;      // the provider's
  uint64_t work_id = 0;  // of the call that enqueued or recorded it; 0: unknown
  int64_t begin_ns = 0, end_ns = 0;
};

/// A queue of work on an instance. Move-only. The destructor does not wait, so work on the stream must be done. Calls
/// of one stream do not overlap, except wait().
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
  /// The number of the end of the work that is enqueued so far, 1 or more. Later points have larger numbers.
  Result<uint64_t> point();
  /// Work that is enqueued from now on begins after `point` of `other`, a stream of the same provider that was flushed
  /// since. `other` must outlive a later point of this stream.
  Status wait_for(const Stream& other, uint64_t point);
  /// Blocks until the work before `point` is done, and reports its first error that no wait has reported yet; the
  /// place of that Status is the place of the work. `timeout_ns` < 0: no limit. DEADLINE_EXCEEDED when the time is over.
  Status wait(uint64_t point, int64_t timeout_ns = -1);
  /// Runs and copies with this stream are recorded and not done until record_end() or record_drop(). Nothing else may
  /// be called in between. Requires has_recordings().
  Status record_begin();
  Result<Recording> record_end();
  /// Ends the recording without a result.
  Status record_drop();
  /// When work ran that is done and was not given yet, in order. Nothing when the stream is not timed.
  Result<std::vector<WorkTime>> times();
  void reset();
  void swap(Stream& other) noexcept;

 private:
  friend class Instance;
  std::shared_ptr<Instance> instance_;
  tenon_stream* handle_ = nullptr;
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
  /// The options in force, defaults included.
  const std::vector<config::OptionSetting>& options() const { return options_; }
  const InstanceSettings& settings() const { return settings_; }
  /// Every Run gives the same bits for any number of threads.
  bool is_deterministic() const { return settings_.deterministic; }
  Device& device() const { return *device_; }
  const tenon_ep_api& api() const { return device_->api(); }
  tenon_instance* handle() const { return handle_; }
  /// What the provider knows this instance by in calls of the host's table.
  const tenon_host_instance& services() const { return services_; }
  bool has_streams() const { return api().stream_create != nullptr; }
  bool has_recordings() const { return has_streams() && api().record_begin != nullptr; }
  bool has_times() const { return has_streams() && api().stream_times != nullptr; }
  bool has_bind() const { return api().bind != nullptr; }

  /// `timed`: the stream measures its work if the provider has_times().
  Result<Stream> make_stream(bool timed = false);
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
