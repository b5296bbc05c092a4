// The provider under test, and calls of its functions. Each call is reported to the parent process before it is made;
// its exceptions are caught and its tenon_error is checked.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ep-sdk/cts/host_table.h"
#include "ep-sdk/cts/outcome.h"
#include "tenon/ep.h"

namespace tenon::cts {

/// The caller's tenon_error of one call, and what the provider does with it (R10).
class ErrorBox {
 public:
  ErrorBox();
  tenon_error* get() { return &error_; }
  /// Place and message, after a status other than OK.
  std::string text() const;
  /// Records violations of R10.
  void look(tenon_status status, const char* name) const;

 private:
  tenon_error error_;
};

struct CallResult {
  tenon_status status = TENON_OK;
  std::string text;
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
  if (!out.ok()) out.text = box.text();
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
  std::string stable_id, name, vendor;
  uint32_t kind = 0, flags = 0, serialize = 0;
  bool operator==(const DeviceInfo& other) const;
};

struct Domain {
  uint32_t id = 0, flags = 0, alignment = 1;
  uint64_t max_buffer_bytes = 0;
  std::string name;
  bool is_addressable() const { return (flags & TENON_DOMAIN_ADDRESSABLE) != 0; }
  bool is_host_visible() const { return (flags & TENON_DOMAIN_HOST_VISIBLE) != 0; }
};

/// Paths of the library, and the user's settings.
struct SubjectParams {
  std::string module_path, manifest_dir, device;
  std::vector<tenon_option> options;
  uint64_t memory_limit = 0;
};

/// Provider, device and instance. The destructor destroys them in reverse order.
class Subject {
 public:
  Subject(const tenon_ep_api& table, SubjectParams params) : api(table), params_(std::move(params)) {}
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  void create_provider(uint32_t flags = 0);
  std::vector<DeviceInfo> enumerate() const;
  /// Opens the device in the params, or the first one.
  void open_device();
  void open_device(const std::string& stable_id);
  void create_instance();
  /// Makes provider, device and instance.
  void open();
  void destroy_instance();
  void close_device();
  void destroy_provider();

  tenon_instance* make_instance(uint32_t precision = TENON_PRECISION_EXACT);
  std::vector<Domain> read_domains() const;
  /// NULL for the host's domain, and when the device does not have the domain.
  const Domain* domain(uint32_t id) const;
  bool has_streams() const { return api.stream_create != nullptr; }

  const tenon_ep_api& api;
  tenon_provider* provider = nullptr;
  tenon_device* device = nullptr;
  tenon_instance* instance = nullptr;
  DeviceInfo device_info;
  std::vector<Domain> domains;
  tenon_host_instance services;

 private:
  SubjectParams params_;
};

}  // namespace tenon::cts
