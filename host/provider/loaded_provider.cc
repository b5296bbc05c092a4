#include "host/provider/loaded_provider.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "host/base/error_struct.h"
#include "host/base/text.h"
#include "host/provider/device_list.h"
#include "host/provider/library.h"
#include "host/provider/load.h"
#include "host/provider/negotiate.h"

namespace tenon::provider {
namespace {

constexpr int64_t kQuiesceNs = 5'000'000'000;

tenon_error empty_error() {
  tenon_error error{};
  error.struct_size = sizeof error;
  return error;
}

/// Makes `text` valid UTF-8 without control characters: a provider may have written anything.
template <size_t kRoom>
void clean(char (&text)[kRoom]) {
  std::snprintf(text, kRoom, "%s", bounded_text(text, kRoom).c_str());
}

std::string listed(const std::vector<DeviceInfo>& devices) {
  std::vector<std::string> names;
  for (const DeviceInfo& device : devices)
    names.push_back(str_cat(device.selector(), " (", device.name, ")"));
  return names.empty() ? "none" : join(names, ", ");
}

bool answers_to(const DeviceInfo& device, std::string_view selector) {
  return selector.empty() || selector == device.selector() || selector == device.stable_id ||
         (device.ordinal == 0 && selector == device_kind_name(device.kind));
}

}  // namespace

std::string_view state_name(State state) {
  constexpr std::string_view kNames[] = {"discovered", "scanned", "active", "draining",
                                         "quiesced",   "closed",  "retired"};
  return kNames[static_cast<int>(state)];
}

Status provider_status(const LoadedProvider& provider, tenon_status code, const tenon_error& error) {
  tenon_error said = error;
  clean(said.message);
  clean(said.where);
  return take_status(code, said, str_cat("provider '", provider.label(), "'"));
}

std::string LoadedProvider::label() const {
  return str_cat(manifest_->id, " ", manifest_->version.to_string());
}
uint64_t LoadedProvider::generation() const { return build_->generation; }
const std::string& LoadedProvider::library_path() const { return build_->real_path; }
State LoadedProvider::state() const { return build_->state.load(std::memory_order_acquire); }

std::shared_ptr<LoadedProvider> LoadedProvider::built_in(std::shared_ptr<const Manifest> manifest,
                                                         const tenon_ep_api& api, OwnedHandle handle) {
  auto build = std::make_shared<Build>();
  build->has_provider = true;
  build->state = State::kActive;
  std::shared_ptr<LoadedProvider> out(new LoadedProvider());
  out->host_ = {manifest->id, manifest->version.to_string()};
  out->manifest_ = std::move(manifest);
  out->api_ = api;
  out->abi_minor_ = api.abi_minor;
  out->handle_ = handle.release();
  out->build_ = std::move(build);  // from here on the destructor destroys the handle
  return out;
}

LoadedProvider::~LoadedProvider() {
  // When the process ends, the state of a driver may be destroyed already, so the provider is not called any more.
  if (!build_ || process_is_ending()) return;
  std::lock_guard<std::mutex> lock(build_->mutex);
  bool quiet = true;
  try {
    tenon_error error = empty_error();
    if (api_.quiesce != nullptr) quiet = api_.quiesce(handle_, kQuiesceNs, &error) == TENON_OK;
    api_.provider_destroy(handle_);
  } catch (...) {
    quiet = false;  // breaks the contract: the library stays mapped
  }
  build_->state = State::kQuiesced;
  if (manifest_->traits.unloadable && quiet) {
    build_->library.reset();
    build_->is_mapped = false;
    build_->state = State::kClosed;
  } else {
    build_->state = State::kRetired;
  }
  build_->has_provider = false;
  build_->gone.notify_all();
}

Result<std::vector<DeviceInfo>> LoadedProvider::devices() {
  std::lock_guard<std::mutex> lock(mutex_);
  return enumerate();
}

Result<std::vector<DeviceInfo>> LoadedProvider::enumerate() {
  if (enumerated_) return devices_;
  std::vector<DeviceInfo> found;
  tenon_error error = empty_error();
  tenon_status status = list_devices(api_, handle_, found, error);
  if (status != TENON_OK) return provider_status(*this, status, error).with_context("enumerating devices");
  devices_ = std::move(found);
  enumerated_ = true;
  return devices_;
}

Result<std::shared_ptr<Device>> LoadedProvider::open_device(std::string_view selector) {
  std::shared_ptr<Device> lost;  // destroyed after the unlock: closing a device takes the lock
  std::lock_guard<std::mutex> lock(mutex_);
  ASSIGN_OR_RETURN(std::vector<DeviceInfo> devices, enumerate());
  for (const DeviceInfo& device : devices) {
    if (answers_to(device, selector)) return open(device, &lost);
  }
  return Status(StatusCode::kNotFound,
                str_cat("provider '", label(), "' has no device '", selector, "'; it has: ", listed(devices)),
                ErrorKind::kProviderMissing);
}

// The caller holds mutex_. A Device that is destroyed here must not have a handle, because ~Device takes the lock.
Result<std::shared_ptr<Device>> LoadedProvider::open(const DeviceInfo& info,
                                                     std::shared_ptr<Device>* out_lost) {
  if (std::shared_ptr<Device> device = open_[info.stable_id].lock()) {
    if (!device->is_lost()) return device;
    *out_lost = std::move(device);
  }
  const std::string place = str_cat("opening device '", info.selector(), "'");
  std::shared_ptr<Device> device(new Device());
  device->provider_ = shared_from_this();
  device->info_ = info;
  std::weak_ptr<Device>& known = open_[info.stable_id];
  tenon_device* handle = nullptr;
  tenon_error error = empty_error();
  tenon_device_params params{};
  params.struct_size = sizeof params;
  params.stable_id = {info.stable_id.data(), info.stable_id.size()};
  tenon_status status = api_.device_open(handle_, &params, &handle, &error);
  if (status != TENON_OK) return provider_status(*this, status, error).with_context(place);
  std::unique_ptr<tenon_device, decltype(api_.device_close)> opened(handle, api_.device_close);
  status = list_domains(api_, handle, device->domains_, error);
  if (status != TENON_OK) return provider_status(*this, status, error).with_context(place);
  if (Status checked = check_domains(device->domains_); !checked.ok())
    return std::move(checked).with_context(str_cat("provider '", label(), "'")).with_context(place);
  device->handle_ = opened.release();  // The device closes the handle from here on.
  known = device;
  return device;
}

Device::~Device() {
  if (handle_ == nullptr || process_is_ending()) return;
  // Nobody may open the device again while it is being closed.
  std::lock_guard<std::mutex> lock(provider_->mutex_);
  provider_->api_.device_close(handle_);
}

}  // namespace tenon::provider
