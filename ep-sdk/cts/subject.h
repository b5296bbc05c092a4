// The provider under test, and calls of its functions. Each call is reported to the parent process before it is made;
// its exceptions are caught and its tenon_error is checked.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ep-sdk/cts/host_table.h"
#include "ep-sdk/cts/outcome.h"
#include "tenon/ep.h"

namespace tenon::cts {

/// A copy of a library's table. Functions beyond its struct_size, which a library of an older minor lacks, are NULL.
tenon_ep_api table_of(const tenon_ep_api& table);

/// The caller's tenon_error of one call, and what the provider does with it (R10).
class ErrorBox {
 public:
  ErrorBox();
  tenon_error* get() { return &error_; }
  /// Place and message, after a status other than OK.
  std::string text() const;
  std::string where() const;
  uint32_t flags() const { return error_.flags; }
  /// Records violations of R10, R12 and R49.
  void look(tenon_status status, const char* name) const;

 private:
  tenon_error error_;
};

struct CallResult {
  tenon_status status = TENON_OK;
  std::string text;
  uint32_t flags = 0;  // TENON_ERROR_x, after a status other than OK
  std::string where;
  bool ok() const { return status == TENON_OK; }
};

void begin_call(const char* name);
void end_call(const char* name);
[[noreturn]] void exception_escaped(const char* name, const char* what);

/// Runs `body`, which calls the function. Throws Failed when an exception escapes (R8).
template <class Body>
void guarded_call(const char* name, Body&& body) {
  begin_call(name);
  try {
    body();
  } catch (const std::exception& e) {
    exception_escaped(name, e.what());
  } catch (...) {
    exception_escaped(name, "of a type that is not a std::exception");
  }
  end_call(name);
}

/// Calls a function whose last parameter is a tenon_error.
template <class F, class... A>
CallResult try_call(const char* name, F function, A... arguments) {
  ErrorBox box;
  CallResult out;
  guarded_call(name, [&] { out.status = function(arguments..., box.get()); });
  box.look(out.status, name);
  if (!out.ok()) out.text = box.text(), out.flags = box.flags(), out.where = box.where();
  return out;
}

/// Throws CallFailed when the function does not return OK.
template <class F, class... A>
void call(const char* name, F function, A... arguments) {
  const CallResult result = try_call(name, function, arguments...);
  if (!result.ok()) throw CallFailed(result.status, std::string(name) + ": " + result.text);
}

/// Destroys an object through its function and sets the handle to NULL.
template <class T>
void destroy(const char* name, void (*function)(T*), T*& handle) {
  if (handle == nullptr) return;
  T* last = handle;
  handle = nullptr;
  guarded_call(name, [&] { function(last); });
}

/// A copy of tenon_device_info.
struct DeviceInfo {
  std::string stable_id, name, vendor, driver_version;
  uint32_t kind = 0, flags = 0, serialize = 0;
  uint64_t memory_bytes = 0;
  std::array<uint32_t, 4> pci{};  // domain, bus, device, function
  std::array<uint8_t, 16> uuid{};
  bool operator==(const DeviceInfo& other) const = default;
};

struct Domain {
  uint32_t id = 0, flags = 0, alignment = 1;
  uint64_t max_buffer_bytes = 0;
  std::string name;
  bool is_mappable() const { return (flags & TENON_DOMAIN_MAPPABLE) != 0; }
  bool has_host_address() const { return (flags & TENON_DOMAIN_HOST_ADDRESS) != 0; }
  /// Whether tensors carry an address, for host or device.
  bool has_address() const {
    return (flags & (TENON_DOMAIN_HOST_ADDRESS | TENON_DOMAIN_DEVICE_ADDRESS)) != 0;
  }
  bool is_staging() const { return (flags & TENON_DOMAIN_STAGING) != 0; }
};

/// Paths of the library, and the user's settings.
struct SubjectParams {
  std::string module_path, manifest_dir, device;
  std::vector<tenon_option> options;
  uint64_t memory_limit = 0;
};

/// Provider, device and instance. The destructor destroys them in reverse order. Threads may share it when it is open.
class Subject {
 public:
  Subject(const tenon_ep_api& table, SubjectParams params)
      : api(table_of(table)), params_(std::move(params)) {}
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  void create_provider(uint32_t flags = 0);
  std::vector<DeviceInfo> enumerate() const;
  /// Opens the device in the params, or the first one.
  void open_device();
  void open_device(const std::string& stable_id);
  /// Calls device_open for a device that need not exist.
  CallResult try_open(const std::string& stable_id, tenon_device** out_device) const;
  void create_instance();
  /// Makes provider, device and instance.
  void open();
  void destroy_instance();
  void close_device();
  void destroy_provider();

  tenon_instance* make_instance(uint32_t precision = TENON_PRECISION_EXACT);
  /// A device of the same provider, opened, with an instance. Destroy it before this subject.
  std::unique_ptr<Subject> open_on(const DeviceInfo& other) const;
  /// The first other device that can be opened and fits; NULL when there is none. As open_on.
  std::unique_ptr<Subject> open_other(const std::function<bool(const Subject&)>& fits) const;
  std::vector<Domain> read_domains() const;
  /// NULL for the host's domain, and when the device does not have the domain.
  const Domain* domain(uint32_t id) const;
  bool has_streams() const { return api.stream_create != nullptr; }
  bool has_recordings() const { return api.record_begin != nullptr; }

  const tenon_ep_api api;
  tenon_provider* provider = nullptr;
  tenon_device* device = nullptr;
  tenon_instance* instance = nullptr;
  DeviceInfo device_info;
  std::vector<Domain> domains;
  tenon_host_instance services;

 private:
  SubjectParams params_;
  bool owns_provider_ = true;
};

/// One more instance of a subject's device. It ends with the scope, so also when a check fails.
class OtherInstance {
 public:
  explicit OtherInstance(Subject& subject) : subject_(subject), instance_(subject.make_instance()) {}
  ~OtherInstance() {
    if (instance_ != nullptr) subject_.api.instance_destroy(instance_);
  }
  OtherInstance(const OtherInstance&) = delete;
  OtherInstance& operator=(const OtherInstance&) = delete;
  tenon_instance* get() const { return instance_; }
  /// Throws Failed when the provider does not do it properly.
  void destroy() { cts::destroy("instance_destroy", subject_.api.instance_destroy, instance_); }

 private:
  Subject& subject_;
  tenon_instance* instance_;
};

}  // namespace tenon::cts
